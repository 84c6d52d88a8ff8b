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

/// `expr` where the loops of one iteration stand at zero.
AffineExpr withoutUnitLoops(AffineExpr expr, ArrayRef<int64_t> ranges) {
  SmallVector<AffineExpr> dims;
  for (auto [i, range] : llvm::enumerate(ranges))
    dims.push_back(range == 1 ? getAffineConstantExpr(0, expr.getContext())
                              : getAffineDimExpr(i, expr.getContext()));
  return expr.replaceDims(dims);
}

/// A window that has one place, `i + k` with `i` of one iteration, need not read all of its
/// operand: 7 of 8 pixels, say. Without `i` the loop over `k` would be as long as the operand,
/// so the operand becomes the slice that is read.
void sliceWhatWindowsRead(linalg::GenericOp op) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  OpBuilder b(op);
  SmallVector<OpFoldResult> loops;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand->get().getType());
    if (!type)
      continue;
    SmallVector<std::pair<unsigned, unsigned>>
        shortened; // dim of the operand, loop
    for (auto [i, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(operand).getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(withoutUnitLoops(expr, ranges));
      bool isKnownWhole = loop && !type.isDynamicDim(i) &&
                          type.getDimSize(i) == ranges[loop.getPosition()];
      if (loop && expr != loop && !isKnownWhole)
        shortened.push_back({static_cast<unsigned>(i), loop.getPosition()});
    }
    if (shortened.empty())
      continue;
    if (loops.empty())
      for (Range range : cast<linalg::LinalgOp>(op.getOperation())
                             .createLoopRanges(b, op.getLoc()))
        loops.push_back(range.size);
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(b, op.getLoc(), operand->get());
    for (auto [dim, loop] : shortened)
      sizes[dim] = loops[loop];
    SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0));
    SmallVector<OpFoldResult> strides(sizes.size(), b.getIndexAttr(1));
    operand->set(tensor::ExtractSliceOp::create(b, op.getLoc(), operand->get(),
                                                offsets, sizes, strides));
  }
}

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
    getOperation()->walk(sliceWhatWindowsRead);
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
