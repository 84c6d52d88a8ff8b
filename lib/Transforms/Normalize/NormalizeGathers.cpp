//===- NormalizeGathers.cpp - tensor.extract of computed tensors ----------===//
#include "NormalizeCommon.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZEGATHERS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {

/// Work of a body, in ops, that is done again for each of several readers; and that of a division
/// or a function. In a recurrence over neighbours each step reads the one before it three
/// times: 50 steps would be 3^50 ops.
constexpr int64_t kMostWorkForSeveral = 192, kWorkOfFunction = 48;

/// Whether the ops of a body are much work, each time that it is made.
bool isMuchWork(Block *block) {
  int64_t work = 0;
  for (Operation &op : block->without_terminator()) {
    bool isFunction =
        isa_and_nonnull<math::MathDialect>(op.getDialect()) &&
        !isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp,
             math::CeilOp, math::RoundEvenOp, math::TruncOp, math::CopySignOp>(
            op);
    work += isa<arith::DivFOp>(op) || isFunction ? kWorkOfFunction : 1;
  }
  return work > kMostWorkForSeveral;
}

/// How many points `op` computes; kDynamic if unknown.
int64_t countPoints(linalg::LinalgOp op) {
  int64_t points = 1;
  for (int64_t extent : op.getStaticLoopRanges()) {
    if (ShapedType::isDynamic(extent))
      return ShapedType::kDynamic;
    points *= extent;
  }
  return points;
}

/// An element of a tensor that a generic computes point by point is that
/// generic's scalar body, evaluated at the element's index. With all its
/// readers gone, the whole tensor need not be computed.
struct EvaluateAtIndex : OpRewritePattern<tensor::ExtractOp> {
  EvaluateAtIndex(MLIRContext *context, bool copiesOnly, PatternBenefit benefit)
      : OpRewritePattern(context, benefit), copiesOnly(copiesOnly) {}
  bool copiesOnly;

  LogicalResult matchAndRewrite(tensor::ExtractOp op,
                                PatternRewriter &rewriter) const override {
    auto result = dyn_cast<OpResult>(op.getTensor());
    auto producer = op.getTensor().getDefiningOp<linalg::GenericOp>();
    if (!producer || !producer.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "not of a generic on tensors");
    if (producer.getNumParallelLoops() != producer.getNumLoops())
      return rewriter.notifyMatchFailure(op, "the producer reduces");
    OpOperand *init = producer.getDpsInitOperand(result.getResultNumber());
    AffineMap written = producer.getMatchingIndexingMap(init);
    if (!written.isPermutation())
      return rewriter.notifyMatchFailure(op, "not one point for each element");
    for (Operation &inner : producer.getBody()->without_terminator())
      if (!isMemoryEffectFree(&inner))
        return rewriter.notifyMatchFailure(op, "the producer has effects");
    for (OpOperand &out : producer.getDpsInitsMutable())
      if (producer.payloadUsesValueFromOperand(&out))
        return rewriter.notifyMatchFailure(op, "the producer updates in place");
    // Either may have grown by this before the other.
    if (!result.hasOneUse() && (isMuchWork(producer.getBody()) ||
                                (op->getParentOfType<linalg::LinalgOp>() &&
                                 isMuchWork(op->getBlock()))))
      return rewriter.notifyMatchFailure(op, "much work for several readers");
    bool copies = producer.getBody()->without_terminator().empty();
    if (copiesOnly && !copies)
      return rewriter.notifyMatchFailure(op, "the producer computes");
    auto reader = op->getParentOfType<linalg::LinalgOp>();
    // Reading an element more than once would compute it more than once.
    if (reader && !copies) {
      int64_t computed = countPoints(producer), read = countPoints(reader);
      if (!ShapedType::isDynamic(computed) && !ShapedType::isDynamic(read) &&
          read > computed)
        return rewriter.notifyMatchFailure(op, "elements are read repeatedly");
    }

    Location loc = op.getLoc();
    SmallVector<Value> point(producer.getNumLoops());
    for (auto [dim, index] : llvm::enumerate(op.getIndices()))
      point[written.getDimPosition(dim)] = index;
    IRMapping mapping;
    for (OpOperand *input : producer.getDpsInputOperands()) {
      BlockArgument argument = producer.getMatchingBlockArgument(input);
      if (argument.use_empty())
        continue;
      if (!isa<RankedTensorType>(input->get().getType())) {
        mapping.map(argument, input->get());
        continue;
      }
      AffineMap map = producer.getMatchingIndexingMap(input);
      SmallVector<Value> indices;
      for (AffineExpr expr : map.getResults())
        indices.push_back(evaluate(rewriter, loc, expr, point));
      mapping.map(argument, tensor::ExtractOp::create(rewriter, loc,
                                                      input->get(), indices));
    }
    for (Operation &inner : producer.getBody()->without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        mapping.map(index.getResult(), point[index.getDim()]);
      else
        rewriter.clone(inner, mapping);
    }
    Value yielded = producer.getBody()->getTerminator()->getOperand(
        result.getResultNumber());
    rewriter.replaceOp(op, mapping.lookupOrDefault(yielded));
    return success();
  }

private:
  static Value evaluate(OpBuilder &b, Location loc, AffineExpr expr,
                        ValueRange point) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      return point[dim.getPosition()];
    if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      return arith::ConstantIndexOp::create(b, loc, constant.getValue());
    return affine::AffineApplyOp::create(
        b, loc, AffineMap::get(point.size(), 0, expr), point);
  }
};

struct NormalizeGathers
    : redfuse::impl::NormalizeGathersBase<NormalizeGathers> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeGathersPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeGathersPatterns(RewritePatternSet &patterns) {
  patterns.add<EvaluateAtIndex>(patterns.getContext(), /*copiesOnly=*/false,
                                /*benefit=*/1);
}

void redfuse::populateExtractOfCopyPatterns(RewritePatternSet &patterns,
                                            PatternBenefit benefit) {
  patterns.add<EvaluateAtIndex>(patterns.getContext(), /*copiesOnly=*/true,
                                benefit);
}
