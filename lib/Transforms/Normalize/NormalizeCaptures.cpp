//===- NormalizeCaptures.cpp - computed scalars as operands ---------------===//
#include "NormalizeCommon.h"

#include "mlir/Transforms/RegionUtils.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZECAPTURES
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {

/// Is `value` computed from an element of a linalg op's result?
bool comesFromComputedTensor(Value value, unsigned depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 16)
    return false;
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return extract.getTensor().getDefiningOp<linalg::LinalgOp>() &&
           extract.getIndices().empty();
  if (op->getNumRegions() || !isMemoryEffectFree(op) ||
      !isa_and_nonnull<arith::ArithDialect, math::MathDialect>(
          op->getDialect()))
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return comesFromComputedTensor(operand, depth + 1);
  });
}

/// A scalar that a body uses and that is taken from a computed tensor of rank 0
/// hides where it comes from; its code goes into the body, where the read of
/// the tensor becomes an operand.
struct SinkComputedScalars : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op.getRegion(), captured);
    bool changed = false;
    for (Value value : captured) {
      if (!comesFromComputedTensor(value))
        continue;
      rewriter.setInsertionPointToStart(op.getBody());
      Operation *inside = rewriter.clone(*value.getDefiningOp());
      unsigned number = cast<OpResult>(value).getResultNumber();
      rewriter.replaceUsesWithIf(
          value, inside->getResult(number), [&](OpOperand &use) {
            return op.getRegion().isAncestor(use.getOwner()->getParentRegion());
          });
      changed = true;
    }
    return success(changed);
  }
};

struct NormalizeCaptures
    : redfuse::impl::NormalizeCapturesBase<NormalizeCaptures> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeCapturesPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeCapturesPatterns(RewritePatternSet &patterns) {
  patterns.add<SinkComputedScalars>(patterns.getContext());
}
