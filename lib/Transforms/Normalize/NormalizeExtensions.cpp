//===- NormalizeExtensions.cpp - extensions of bytes to their users -------===//
#include "NormalizeCommon.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZEEXTENSIONS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// Whether a generic does nothing but extend integers of 8 bits.
static bool isExtension(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumReductionLoops() != 0 ||
      !llvm::hasSingleElement(op.getBody()->without_terminator()))
    return false;
  Operation &only = op.getBody()->front();
  return isa<arith::ExtSIOp, arith::ExtUIOp>(only) &&
         only.getOperand(0) == op.getBody()->getArgument(0) &&
         only.getOperand(0).getType().isInteger(8) &&
         op.getBody()->getTerminator()->getOperand(0) == only.getResult(0);
}

namespace {
struct NormalizeExtensions
    : redfuse::impl::NormalizeExtensionsBase<NormalizeExtensions> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeExtensionsPatterns))
      signalPassFailure();
  }
};
} // namespace

void redfuse::populateNormalizeExtensionsPatterns(RewritePatternSet &patterns) {
  // With several users the extended tensor would be a second result of one of them.
  linalg::populateElementwiseOpsFusionPatterns(
      patterns, [](OpOperand *operand) {
        auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
        return producer && producer->hasOneUse() && isExtension(producer);
      });
}
