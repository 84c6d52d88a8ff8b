//===- NormalizeExtents.cpp - extents that are known ----------------------===//
#include "NormalizeCommon.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZEEXTENTS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using redfuse::Extent;
using redfuse::ExtentProduct;

namespace {

ExtentProduct productOf(Value scalar) {
  return redfuse::getExtentProduct(redfuse::getExtentOf(scalar));
}

bool isConstant(const ExtentProduct &product) {
  return product.factors.empty();
}

/// The comparison with both sides exchanged.
arith::CmpIPredicate mirrored(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::slt:
    return P::sgt;
  case P::sle:
    return P::sge;
  case P::sgt:
    return P::slt;
  case P::sge:
    return P::sle;
  default:
    return predicate;
  }
}

/// Whether `product <predicate> bound` holds for all products of extents;
/// nothing if that depends on them.
std::optional<bool> compareAll(arith::CmpIPredicate predicate, int64_t bound) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::slt:
    return bound <= 0 ? std::optional(false) : std::nullopt;
  case P::sge:
    return bound <= 0 ? std::optional(true) : std::nullopt;
  case P::sle:
  case P::eq:
    return bound < 0 ? std::optional(false) : std::nullopt;
  case P::sgt:
  case P::ne:
    return bound < 0 ? std::optional(true) : std::nullopt;
  default:
    return std::nullopt;
  }
}

struct CompareExtents : OpRewritePattern<arith::CmpIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::CmpIOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getLhs().getType().isIntOrIndex())
      return rewriter.notifyMatchFailure(op, "compares no scalars");
    ExtentProduct left = productOf(op.getLhs()), right = productOf(op.getRhs());
    std::optional<bool> known;
    if (left == right)
      known =
          arith::applyCmpPredicate(op.getPredicate(), APInt(1, 0), APInt(1, 0));
    else if (isConstant(right) && left.isSize())
      known = compareAll(op.getPredicate(), right.constant);
    else if (isConstant(left) && right.isSize())
      known = compareAll(mirrored(op.getPredicate()), left.constant);
    if (!known)
      return rewriter.notifyMatchFailure(op, "depends on the extents");
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, rewriter.getBoolAttr(*known));
    return success();
  }
};

/// A division by zero has no result, so the divisor's factors are not 0.
template <typename Division>
struct DivideExtents : OpRewritePattern<Division> {
  using OpRewritePattern<Division>::OpRewritePattern;
  LogicalResult matchAndRewrite(Division op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isIntOrIndex())
      return rewriter.notifyMatchFailure(op, "divides no scalars");
    ExtentProduct left = productOf(op.getLhs()), right = productOf(op.getRhs());
    if (isConstant(left) || !left.isSize() || !right.isSize())
      return rewriter.notifyMatchFailure(op, "not of numbers of elements");
    std::optional<ExtentProduct> quotient = redfuse::divide(left, right);
    if (!quotient)
      return rewriter.notifyMatchFailure(op, "not a factor of the other");
    Location loc = op.getLoc();
    Value result;
    if (quotient->constant != 1 || isConstant(*quotient))
      result =
          arith::ConstantIndexOp::create(rewriter, loc, quotient->constant);
    for (const Extent &extent : quotient->factors) {
      Value factor = redfuse::materialize(rewriter, loc, extent);
      result = result ? arith::MulIOp::create(rewriter, loc, result, factor)
                      : factor;
    }
    if (!op.getType().isIndex())
      result = arith::IndexCastOp::create(rewriter, loc, op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// A pad whose type tells an extent that its source's type does not: upstream gives
/// the pad the type that its readers ask for. What takes the pad and the reshapes
/// around it apart goes by the source's type.
struct TellSourceOfPad : OpRewritePattern<tensor::PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::PadOp op,
                                PatternRewriter &rewriter) const override {
    RankedTensorType source = op.getSourceType(), type = op.getResultType();
    SmallVector<int64_t> shape(source.getShape());
    for (auto [d, extent] : llvm::enumerate(shape)) {
      int64_t low = op.getStaticLow()[d], high = op.getStaticHigh()[d];
      if (!ShapedType::isDynamic(extent) || type.isDynamicDim(d) ||
          ShapedType::isDynamic(low) || ShapedType::isDynamic(high))
        continue;
      // A negative one is never reached: a check in front of it fails.
      if (int64_t rest = type.getDimSize(d) - low - high; rest >= 0)
        extent = rest;
    }
    if (shape == source.getShape())
      return rewriter.notifyMatchFailure(op, "its source's type tells as much");
    Value cast = tensor::CastOp::create(rewriter, op.getLoc(),
                                        source.clone(shape), op.getSource());
    rewriter.modifyOpInPlace(op, [&] { op.getSourceMutable().assign(cast); });
    return success();
  }
};

/// A collapsed tensor whose extents become known: so does the one unknown extent that
/// a collapsed one is a multiple of.
struct TellSourceOfCollapse : OpRewritePattern<tensor::CastOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::CastOp op,
                                PatternRewriter &rewriter) const override {
    auto collapse = op.getSource().getDefiningOp<tensor::CollapseShapeOp>();
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!collapse || !type)
      return rewriter.notifyMatchFailure(op, "no cast of what is collapsed");
    RankedTensorType source = collapse.getSrcType();
    SmallVector<int64_t> shape(source.getShape());
    SmallVector<int64_t> collapsed(collapse.getResultType().getShape());
    for (auto [d, group] :
         llvm::enumerate(collapse.getReassociationIndices())) {
      if (type.isDynamicDim(d) || !ShapedType::isDynamic(collapsed[d]))
        continue;
      int64_t known = 1, open = -1, numOpen = 0;
      for (int64_t dim : group)
        if (source.isDynamicDim(dim))
          open = dim, ++numOpen;
        else
          known *= source.getDimSize(dim);
      if (numOpen != 1 || known == 0 || type.getDimSize(d) % known != 0)
        continue;
      shape[open] = type.getDimSize(d) / known;
      collapsed[d] = type.getDimSize(d);
    }
    if (shape == source.getShape())
      return rewriter.notifyMatchFailure(op, "no extent becomes known");
    Location loc = op.getLoc();
    Value told = tensor::CastOp::create(rewriter, loc, source.clone(shape),
                                        collapse.getSrc());
    told = tensor::CollapseShapeOp::create(rewriter, loc, type.clone(collapsed),
                                           told,
                                           collapse.getReassociationIndices());
    if (told.getType() != type)
      told = tensor::CastOp::create(rewriter, loc, type, told);
    rewriter.replaceOp(op, told);
    return success();
  }
};

struct NormalizeExtents
    : redfuse::impl::NormalizeExtentsBase<NormalizeExtents> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeExtentsPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeExtentsPatterns(RewritePatternSet &patterns) {
  patterns
      .add<CompareExtents, DivideExtents<arith::DivSIOp>,
           DivideExtents<arith::DivUIOp>, DivideExtents<arith::FloorDivSIOp>,
           TellSourceOfPad, TellSourceOfCollapse>(patterns.getContext());
}
