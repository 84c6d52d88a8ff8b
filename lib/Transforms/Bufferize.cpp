//===- Bufferize.cpp - redfuse-bufferize: from tensors to buffers ----------===//
#include "redfuse/Transforms/Bufferize.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
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
    options.allowReturnAllocsFromLoops = true;
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
