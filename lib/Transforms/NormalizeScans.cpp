//===- NormalizeScans.cpp - running combinations as generics --------------===//
#include "NormalizeCommon.h"
#include "redfuse/Dialect/Redfuse.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZESCANS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse::tm_tensor;
using redfuse::Reducer;

namespace {

/// The reducer of the region of a scan, if it is a known one.
std::optional<Reducer> getReducer(ScanOp op) {
  Block &body = op.getRegion().front();
  Operation *combine = body.getTerminator()->getOperand(0).getDefiningOp();
  std::optional<Reducer> reducer =
      combine ? redfuse::getReducerOf(combine) : std::nullopt;
  if (!reducer || combine->getNumOperands() != 2)
    return std::nullopt;
  Value a = body.getArgument(0), b = body.getArgument(1);
  Value lhs = combine->getOperand(0), rhs = combine->getOperand(1);
  bool isPlain = (lhs == a && rhs == b) || (lhs == b && rhs == a);
  return isPlain ? reducer : std::nullopt;
}

struct ScanToGeneric : OpRewritePattern<ScanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ScanOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getInclusive())
      return rewriter.notifyMatchFailure(op, "exclusive");
    if (op.getInputs().size() != 1 || op.getOutputs().size() != 2)
      return rewriter.notifyMatchFailure(op, "not one input and two outputs");
    std::optional<Reducer> reducer = getReducer(op);
    if (!reducer)
      return rewriter.notifyMatchFailure(op, "not a known reducer");
    Value input = op.getInputs().front();
    auto type = cast<RankedTensorType>(input.getType());
    auto running = cast<RankedTensorType>(op.getOutputs()[0].getType());
    Type element = type.getElementType();
    int64_t rank = type.getRank(), along = op.getDimension();
    if (running.getElementType() != element)
      return rewriter.notifyMatchFailure(op, "accumulates in another type");
    TypedAttr identity = redfuse::getReducerIdentity(*reducer, element);
    if (!identity)
      return rewriter.notifyMatchFailure(op, "no identity");
    // A row of no elements leaves its destination as it is.
    if (!op->getResult(1).use_empty() &&
        (type.isDynamicDim(along) || type.getDimSize(along) == 0))
      return rewriter.notifyMatchFailure(op, "rows may be empty");
    Location loc = op.getLoc();
    SmallVector<AffineExpr> exprs;
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    iterators[along] = utils::IteratorType::reduction;
    for (int64_t d = 0; d < rank; ++d)
      if (d != along)
        exprs.push_back(rewriter.getAffineDimExpr(d));
    AffineMap all = rewriter.getMultiDimIdentityMap(rank);
    AffineMap last = AffineMap::get(rank, 0, exprs, rewriter.getContext());
    auto lastType = cast<RankedTensorType>(op.getOutputs()[1].getType());
    auto makeEmpty = [&](Value like, RankedTensorType as) -> Value {
      Value empty = tensor::EmptyOp::create(
          rewriter, loc, tensor::getMixedSizes(rewriter, loc, like), element);
      return empty.getType() == as
                 ? empty
                 : tensor::CastOp::create(rewriter, loc, as, empty).getResult();
    };
    Value start = arith::ConstantOp::create(rewriter, loc, identity);
    Value accumulator =
        linalg::FillOp::create(rewriter, loc, start,
                               makeEmpty(op.getOutputs()[1], lastType))
            .getResult(0);
    Value destination = makeEmpty(op.getOutputs()[0], running);
    auto generic = linalg::GenericOp::create(
        rewriter, loc, TypeRange{lastType, running}, ValueRange{input},
        ValueRange{accumulator, destination}, ArrayRef{all, last, all},
        iterators, [&](OpBuilder &b, Location at, ValueRange arguments) {
          Value sum = redfuse::createCombiner(b, at, *reducer, arguments[1],
                                              arguments[0]);
          linalg::YieldOp::create(b, at, ValueRange{sum, sum});
        });
    rewriter.replaceOp(op, {generic.getResult(1), generic.getResult(0)});
    return success();
  }
};

struct NormalizeScans : redfuse::impl::NormalizeScansBase<NormalizeScans> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeScansPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeScansPatterns(RewritePatternSet &patterns) {
  patterns.add<ScanToGeneric>(patterns.getContext());
}
