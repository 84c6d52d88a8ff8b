//===- LowerToROCDL.cpp - gpu.func to the ROCDL dialect --------------------===//
#include "redfuse/Conversion/GPUToROCDL/LowerToROCDL.h"

#include "redfuse/Codegen/Passes.h"
#include "redfuse/Conversion/Device/DevicePipeline.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace {
struct ROCDLOptions : PassPipelineOptions<ROCDLOptions> {
  Option<std::string> chip{*this, "chip",
                           llvm::cl::desc("the architecture, as gfx942"),
                           llvm::cl::init("gfx942")};
};
} // namespace

void redfuse::buildLowerToROCDL(OpPassManager &pm, StringRef chip) {
  OpPassManager &device = pm.nest<gpu::GPUModuleOp>();
  device.addPass(redfuse::createLowerTiles({chip.str()}));
  redfuse::addDeviceCleanup(device);
  device.addPass(math::createMathExtendToSupportedTypes());
  // On functions: on a module the pass means an NVIDIA GPU's instructions.
  device.nest<gpu::GPUFuncOp>().addPass(redfuse::createExpandMath());
  redfuse::addDeviceControlFlow(device);
  // Before ROCDL: what LLVM has an intrinsic for needs no device library.
  device.addPass(createConvertMathToLLVMPass());
  ConvertGpuOpsToROCDLOpsOptions options;
  options.chipset = chip.str();
  options.runtime = gpu::amd::Runtime::HIP;
  device.addPass(createConvertGpuOpsToROCDLOps(options));
  redfuse::addDeviceToLLVM(device);
  device.addPass(createReconcileUnrealizedCastsPass());
  device.addPass(redfuse::createExternSharedMemory());
  device.addPass(redfuse::createLowerDeviceLibraries());
}

void redfuse::registerLowerToROCDLPipeline() {
  PassPipelineRegistration<ROCDLOptions>(
      "redfuse-lower-to-rocdl",
      "lower the module's gpu.func to the ROCDL dialect",
      [](OpPassManager &pm, const ROCDLOptions &options) {
        buildLowerToROCDL(pm, options.chip);
      });
}
