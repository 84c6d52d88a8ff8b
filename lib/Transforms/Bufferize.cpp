//===- Bufferize.cpp - redfuse-bufferize: from tensors to buffers ----------===//
#include "redfuse/Transforms/Bufferize.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "redfuse/Dialect/Redfuse.h"
#include "redfuse/Transforms/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_BUFFERIZEHOST
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

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
    Value source = op.getSrc();
    MemRefType from = op.getSrcType();
    if (!from.getLayout().isIdentity()) {
      SmallVector<Value> extents;
      for (int64_t dim = 0; dim < from.getRank(); ++dim)
        if (from.isDynamicDim(dim))
          extents.push_back(memref::DimOp::create(rewriter, loc, source, dim));
      auto plain =
          MemRefType::get(from.getShape(), from.getElementType(),
                          MemRefLayoutAttrInterface(), from.getMemorySpace());
      Value copy = memref::AllocOp::create(rewriter, loc, plain, extents);
      memref::CopyOp::create(rewriter, loc, source, copy);
      source = copy;
    }
    SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
    SmallVector<OpFoldResult> strides(sizes.size(), rewriter.getIndexAttr(1));
    for (size_t dim = sizes.size(); dim-- > 1;)
      strides[dim - 1] = product(rewriter, loc, strides[dim], sizes[dim]);
    auto plain =
        MemRefType::get(type.getShape(), type.getElementType(),
                        MemRefLayoutAttrInterface(), type.getMemorySpace());
    Value result = memref::ReinterpretCastOp::create(
        rewriter, loc, plain, source, rewriter.getIndexAttr(0), sizes, strides);
    if (plain != type)
      result = memref::CastOp::create(rewriter, loc, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }

private:
  static OpFoldResult product(OpBuilder &b, Location loc, OpFoldResult x,
                              OpFoldResult y) {
    std::optional<int64_t> left = getConstantIntValue(x);
    std::optional<int64_t> right = getConstantIntValue(y);
    if (left && right)
      return b.getIndexAttr(*left * *right);
    return arith::MulIOp::create(b, loc,
                                 getValueOrCreateConstantIndexOp(b, loc, x),
                                 getValueOrCreateConstantIndexOp(b, loc, y))
        .getResult();
  }
};

struct BufferizeHost : public redfuse::impl::BufferizeHostBase<BufferizeHost> {
  using BufferizeHostBase::BufferizeHostBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // tensor.pad and the like: in destination style, which bufferizes.
    RewritePatternSet patterns(&getContext());
    linalg::populateConvertToDestinationStylePatterns(patterns);
    if (failed(applyPatternsGreedily(module, std::move(patterns))))
      return signalPassFailure();

    bufferization::OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.setFunctionBoundaryTypeConversion(
        bufferization::LayoutMapOption::IdentityLayoutMap);
    // Kernels stay on tensors: their code is generated from index notation.
    options.opFilter.denyOperation([](Operation *op) {
      return isa<KernelOp>(op) || op->getParentOfType<KernelOp>();
    });
    bufferization::BufferizationState state;
    if (failed(
            bufferization::runOneShotModuleBufferize(module, options, state)))
      return signalPassFailure();

    RewritePatternSet shapes(&getContext());
    shapes.add<ExpandDynamicGroup>(&getContext());
    if (failed(applyPatternsGreedily(module, std::move(shapes))))
      return signalPassFailure();
  }
};
} // namespace

void redfuse::registerBufferizePipeline() {
  PassPipelineRegistration<>(
      "redfuse-bufferize",
      "results become destination arguments, tensors of the host become "
      "buffers that are freed; what was not fused becomes loops",
      [](OpPassManager &pm) {
        pm.addPass(createDestinations());
        pm.addPass(createCanonicalizerPass());
        pm.addPass(createCSEPass());
        pm.addPass(createBufferizeHost());
        pm.addPass(createCanonicalizerPass());
        pm.addPass(createCSEPass());
        bufferization::BufferDeallocationPipelineOptions options;
        bufferization::buildBufferDeallocationPipeline(pm, options);
        pm.addPass(createConvertLinalgToLoopsPass());
        pm.addPass(createCanonicalizerPass());
      });
}
