//===- LowerExpandShapes.cpp - expand_shape with several dynamic extents --===//
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace redfuse {
#define GEN_PASS_DEF_LOWEREXPANDSHAPES
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {
/// memref.expand_shape with several dynamic extents in a group, which upstream
/// does not lower: the same elements, with strides from the extents.
struct ExpandDynamicGroup : OpRewritePattern<memref::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(memref::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    MemRefType type = op.getResultType();
    bool known = llvm::all_of(op.getReassociationIndices(),
                              [&](const ReassociationIndices &group) {
                                return llvm::count_if(group, [&](int64_t dim) {
                                         return type.isDynamicDim(dim);
                                       }) <= 1;
                              });
    if (known)
      return rewriter.notifyMatchFailure(op, "upstream's lowering takes it");
    Location loc = op.getLoc();
    // The innermost dim of a group has the stride of what it is a part of.
    auto source =
        memref::ExtractStridedMetadataOp::create(rewriter, loc, op.getSrc());
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
    SmallVector<OpFoldResult> strides(sizes.size());
    AffineExpr product =
        rewriter.getAffineSymbolExpr(0) * rewriter.getAffineSymbolExpr(1);
    for (auto [group, stride] : llvm::zip_equal(
             op.getReassociationIndices(), source.getConstifiedMixedStrides()))
      for (int64_t dim : llvm::reverse(group)) {
        strides[dim] = stride;
        stride = affine::makeComposedFoldedAffineApply(rewriter, loc, product,
                                                       {stride, sizes[dim]});
      }
    rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(
        op, type, op.getSrc(), source.getConstifiedMixedOffset(), sizes,
        strides);
    return success();
  }
};

struct LowerExpandShapes
    : redfuse::impl::LowerExpandShapesBase<LowerExpandShapes> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandDynamicGroup>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
