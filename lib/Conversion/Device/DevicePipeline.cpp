//===- DevicePipeline.cpp - what pipelines of all GPUs share --------------===//
#include "redfuse/Conversion/Device/DevicePipeline.h"
#include "redfuse/Codegen/Passes.h"
#include "redfuse/Conversion/MathExpansion/ExpandSmallFloats.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void redfuse::addDeviceCleanup(OpPassManager &device) {
  OpPassManager &functions = device.nest<gpu::GPUFuncOp>();
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(redfuse::createReuseValues());
  functions.addPass(createCSEPass());
  functions.addPass(createLoopInvariantCodeMotionPass());
  functions.addPass(redfuse::createVersionEdges());
  functions.addPass(createCanonicalizerPass());
}

void redfuse::addDeviceControlFlow(OpPassManager &device) {
  OpPassManager &functions = device.nest<gpu::GPUFuncOp>();
  addSmallFloats(functions);
  functions.addPass(createConvertComplexToStandardPass());
  functions.addPass(createSCFToControlFlowPass());
  functions.addPass(redfuse::createLowerExpandShapes());
  functions.addPass(memref::createExpandStridedMetadataPass());
  functions.addPass(createLowerAffinePass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
  functions.addPass(createConvertVectorToLLVMPass());
}

void redfuse::addDeviceToLLVM(OpPassManager &device) {
  OpPassManager &functions = device.nest<LLVM::LLVMFuncOp>();
  functions.addPass(createConvertVectorToLLVMPass());
  functions.addPass(createConvertComplexToLLVMPass());
  functions.addPass(createConvertMathToLLVMPass());
  functions.addPass(createConvertIndexToLLVMPass());
  functions.addPass(createArithToLLVMConversionPass());
  functions.addPass(createUBToLLVMConversionPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
}
