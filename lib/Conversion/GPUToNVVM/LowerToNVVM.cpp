//===- LowerToNVVM.cpp - gpu.func to PTX ----------------------------------===//
#include "redfuse/Conversion/GPUToNVVM/LowerToNVVM.h"

#include "redfuse/Codegen/Passes.h"
#include "redfuse/Conversion/Device/DevicePipeline.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace {
struct NVVMOptions : PassPipelineOptions<NVVMOptions> {
  Option<unsigned> level{*this, "opt-level",
                         llvm::cl::desc("LLVM's optimisation level"),
                         llvm::cl::init(3)};
  Option<bool> strict{*this, "strict",
                      llvm::cl::desc("no instructions of lower accuracy"),
                      llvm::cl::init(false)};
};
} // namespace

void redfuse::buildLowerToNVVM(OpPassManager &pm, unsigned level, bool strict) {
  OpPassManager &device = pm.nest<gpu::GPUModuleOp>();
  device.addPass(redfuse::createAttachNVVMTarget({level}));
  device.nest<gpu::GPUFuncOp>().addPass(redfuse::createLowerTiles());
  redfuse::addDeviceCleanup(device);
  device.nest<gpu::GPUFuncOp>().addPass(redfuse::createJoinLoads());
  device.nest<gpu::GPUFuncOp>().addPass(redfuse::createConvertBytes());
  if (!strict)
    device.addPass(redfuse::createExpandMath());
  device.nest<gpu::GPUFuncOp>().addPass(
      math::createMathExtendToSupportedTypes());
  device.nest<gpu::GPUFuncOp>().addPass(redfuse::createConvertSmallFloats());
  redfuse::addDeviceControlFlow(device);
  ConvertGpuOpsToNVVMOpsOptions conversion;
  conversion.hasRedux =
      true; // from compute capability 8.0 on: all of Chips.def
  device.addPass(createConvertGpuOpsToNVVMOps(conversion));
  redfuse::addDeviceToLLVM(device);
  OpPassManager &functions = device.nest<LLVM::LLVMFuncOp>();
  functions.addPass(redfuse::createTensorMapParameters());
  functions.addPass(redfuse::createRelaxAtomics());
  functions.addPass(redfuse::createStreamedAccesses());
  functions.addPass(redfuse::createRealignLoads());
  functions.addPass(redfuse::createPairLoads());
  functions.addPass(redfuse::createLowWords());
  functions.addPass(createReconcileUnrealizedCastsPass());
  device.addPass(redfuse::createExternSharedMemory());
}

void redfuse::registerLowerToNVVMPipeline() {
  PassPipelineRegistration<NVVMOptions>(
      "redfuse-lower-to-nvvm",
      "lower the module's gpu.func to the NVVM dialect, with a target",
      [](OpPassManager &pm, const NVVMOptions &options) {
        buildLowerToNVVM(pm, options.level, options.strict);
      });
}
