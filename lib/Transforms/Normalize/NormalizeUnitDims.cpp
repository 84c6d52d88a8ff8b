//===- NormalizeUnitDims.cpp - no loops and dims of extent one ------------===//
#include "NormalizeCommon.h"

#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZEUNITDIMS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {

struct NormalizeUnitDims
    : redfuse::impl::NormalizeUnitDimsBase<NormalizeUnitDims> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    linalg::ControlDropUnitDims options;
    // A pad keeps its dims: nothing is gained, and its region counts them.
    options.controlFn = [](Operation *op) -> SmallVector<unsigned> {
      if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op))
        return llvm::to_vector(llvm::seq<unsigned>(0, generic.getNumLoops()));
      return {};
    };
    {
      // Upstream: "these patterns should not be used with a greedy driver".
      RewritePatternSet patterns(context);
      linalg::populateFoldUnitExtentDimsPatterns(patterns, options);
      linalg::populateMoveInitOperandsToInputPattern(patterns);
      walkAndApplyPatterns(getOperation(), std::move(patterns));
    }
    // One set takes unit dims out of slices that are inserted, the other brings
    // them back: together they never end.
    RewritePatternSet reshapes(context), slices(context);
    tensor::populateReassociativeReshapeFoldingPatterns(reshapes);
    linalg::populateFoldUnitExtentDimsCanonicalizationPatterns(slices, options);
    if (failed(applyPatternsGreedily(getOperation(), std::move(reshapes))) ||
        failed(applyPatternsGreedily(getOperation(), std::move(slices))))
      signalPassFailure();
  }
};

} // namespace
