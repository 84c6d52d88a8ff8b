//===- NormalizeDeadResults.cpp - drop what nobody uses -------------------===//
#include "NormalizeCommon.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZEDEADRESULTS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {

/// The init of an output whose old value the body does not read only says its
/// shape: a tensor.empty says that without keeping a computation alive.
struct ForgetUnreadInits : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "not on tensors");
    bool changed = false;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      Value value = init.get();
      if (op.payloadUsesValueFromOperand(&init) ||
          value.getDefiningOp<tensor::EmptyOp>())
        continue;
      auto type = cast<RankedTensorType>(value.getType());
      // Every element must be written, or the old value shows through.
      if (!op.getMatchingIndexingMap(&init).isPermutation())
        continue;
      SmallVector<OpFoldResult> sizes =
          tensor::getMixedSizes(rewriter, op.getLoc(), value);
      Value empty =
          tensor::EmptyOp::create(rewriter, op.getLoc(), sizes,
                                  type.getElementType(), type.getEncoding());
      rewriter.modifyOpInPlace(op, [&] { init.set(empty); });
      changed = true;
    }
    return success(changed);
  }
};

struct NormalizeDeadResults
    : redfuse::impl::NormalizeDeadResultsBase<NormalizeDeadResults> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeDeadResultsPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeDeadResultsPatterns(
    RewritePatternSet &patterns) {
  patterns.add<ForgetUnreadInits>(patterns.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
  linalg::GenericOp::getCanonicalizationPatterns(patterns,
                                                 patterns.getContext());
}
