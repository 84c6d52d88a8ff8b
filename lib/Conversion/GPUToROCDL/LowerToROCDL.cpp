//===- LowerToROCDL.cpp - gpu.func to the ROCDL dialect -------------------===//
#include "redfuse/Conversion/GPUToROCDL/LowerToROCDL.h"

#include "redfuse/Codegen/Passes.h"
#include "redfuse/Conversion/Device/DevicePipeline.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void redfuse::buildLowerToROCDL(OpPassManager &pm) {
  OpPassManager &device = pm.nest<gpu::GPUModuleOp>();
  device.nest<gpu::GPUFuncOp>().addPass(redfuse::createLowerTiles());
  redfuse::addDeviceCleanup(device);
  OpPassManager &functions = device.nest<gpu::GPUFuncOp>();
  functions.addPass(math::createMathExtendToSupportedTypes());
  // On functions: on a module the pass means an NVIDIA GPU's instructions.
  functions.addPass(redfuse::createExpandMath());
  redfuse::addDeviceControlFlow(device);
  // Before ROCDL: what LLVM has an intrinsic for needs no device library.
  device.nest<gpu::GPUFuncOp>().addPass(createConvertMathToLLVMPass());
  device.addPass(redfuse::createConvertToROCDL());
  redfuse::addDeviceToLLVM(device);
  device.addPass(createReconcileUnrealizedCastsPass());
  device.addPass(redfuse::createExternSharedMemory());
  device.nest<LLVM::LLVMFuncOp>().addPass(redfuse::createRelaxAtomics());
  device.addPass(redfuse::createLowerDeviceLibraries());
}

void redfuse::registerLowerToROCDLPipeline() {
  PassPipelineRegistration<>("redfuse-lower-to-rocdl",
                             "lower the module's gpu.func to the ROCDL dialect",
                             [](OpPassManager &pm) { buildLowerToROCDL(pm); });
}
