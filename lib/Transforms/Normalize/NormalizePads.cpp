//===- NormalizePads.cpp - padding as a choice by position ----------------===//
#include "NormalizeCommon.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZEPADS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {
struct PadToGeneric : OpRewritePattern<tensor::PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::PadOp op,
                                PatternRewriter &rewriter) const override {
    Value padding = op.getConstantPaddingValue();
    if (!padding)
      return rewriter.notifyMatchFailure(op, "what it pads with varies");
    RankedTensorType source = op.getSourceType(), type = op.getResultType();
    if (!source.hasStaticShape() || !type.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "its extents are not all static");
    ArrayRef<int64_t> low = op.getStaticLow();
    if (source.getNumElements() == 0 || llvm::any_of(low, [](int64_t n) {
          return n < 0; // dynamic ones, too
        }))
      return rewriter.notifyMatchFailure(op, "it has no element at a known "
                                             "place of the source");
    if (op.getRegion().isAncestor(padding.getParentRegion()))
      padding = rewriter.clone(*padding.getDefiningOp())->getResult(0);
    Location loc = op.getLoc();
    unsigned rank = type.getRank();
    SmallVector<AffineExpr> exprs;
    for (unsigned d = 0; d < rank; ++d) {
      int64_t n = source.getDimSize(d);
      AffineExpr dim = rewriter.getAffineDimExpr(d);
      if (low[d] == 0 && n >= type.getDimSize(d))
        exprs.push_back(dim);
      else if (n == 1)
        exprs.push_back(rewriter.getAffineConstantExpr(0));
      else
        exprs.push_back((dim + (n - low[d] % n) % n) % n);
    }
    SmallVector<AffineMap> maps = {
        AffineMap::get(rank, 0, exprs, rewriter.getContext()),
        rewriter.getMultiDimIdentityMap(rank)};
    auto choose = [&](OpBuilder &b, Location loc, ValueRange elements) {
      Value isInside;
      auto require = [&](arith::CmpIPredicate predicate, unsigned dim,
                         int64_t bound) {
        Value at = linalg::IndexOp::create(b, loc, dim);
        Value end = arith::ConstantIndexOp::create(b, loc, bound);
        Value holds = arith::CmpIOp::create(b, loc, predicate, at, end);
        isInside =
            isInside ? arith::AndIOp::create(b, loc, isInside, holds) : holds;
      };
      for (unsigned d = 0; d < rank; ++d) {
        int64_t end = low[d] + source.getDimSize(d);
        if (low[d] > 0)
          require(arith::CmpIPredicate::sge, d, low[d]);
        if (end < type.getDimSize(d))
          require(arith::CmpIPredicate::slt, d, end);
      }
      Value result = elements.front();
      if (isInside)
        result = arith::SelectOp::create(b, loc, isInside, result, padding);
      linalg::YieldOp::create(b, loc, result);
    };
    Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                          type.getElementType());
    SmallVector<utils::IteratorType> kinds(rank, utils::IteratorType::parallel);
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        op, TypeRange{type}, ValueRange{op.getSource()}, ValueRange{empty},
        maps, kinds, choose);
    return success();
  }
};

struct NormalizePads : redfuse::impl::NormalizePadsBase<NormalizePads> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizePadsPatterns))
      signalPassFailure();
  }
};
} // namespace

void redfuse::populateNormalizePadsPatterns(RewritePatternSet &patterns) {
  patterns.add<PadToGeneric>(patterns.getContext());
}
