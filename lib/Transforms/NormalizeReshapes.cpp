//===- NormalizeReshapes.cpp - reshapes to the function's edges -----------===//
#include "NormalizeCommon.h"

#include "mlir/Dialect/Tensor/Transforms/Transforms.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZERESHAPES
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {

struct NormalizeReshapes
    : redfuse::impl::NormalizeReshapesBase<NormalizeReshapes> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(
            getOperation(), redfuse::populateNormalizeReshapesPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeReshapesPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  auto always = [](OpOperand *) { return true; };
  linalg::populateFoldReshapeOpsByExpansionPatterns(patterns, always);
  tensor::populateReassociativeReshapeFoldingPatterns(patterns);
  tensor::populateBubbleUpExpandShapePatterns(patterns);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::EmptyOp::getCanonicalizationPatterns(patterns, context);
  tensor::populateFoldTensorEmptyPatterns(patterns);
  linalg::FillOp::getCanonicalizationPatterns(patterns, context);
}
