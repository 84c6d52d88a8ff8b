//===- DevicePipeline.cpp - what pipelines of all GPUs share --------------===//
#include "redfuse/Conversion/Device/DevicePipeline.h"
#include "redfuse/Codegen/Passes.h"
#include "redfuse/Conversion/MathExpansion/ExpandSmallFloats.h"
#include "redfuse/Conversion/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void redfuse::addDeviceCleanup(OpPassManager &device) {
  device.addPass(createCanonicalizerPass());
  device.addPass(createCSEPass());
  device.addPass(redfuse::createReuseValues());
  device.addPass(createCSEPass());
  device.addPass(createLoopInvariantCodeMotionPass());
}

void redfuse::addDeviceControlFlow(OpPassManager &device) {
  addSmallFloats(device);
  device.addPass(createConvertComplexToStandardPass());
  device.addPass(createSCFToControlFlowPass());
  device.addPass(redfuse::createLowerExpandShapes());
  device.addPass(memref::createExpandStridedMetadataPass());
  device.addPass(createLowerAffinePass());
  device.addPass(createCanonicalizerPass());
  device.addPass(createCSEPass());
  device.addPass(createConvertVectorToLLVMPass());
}

void redfuse::addDeviceToLLVM(OpPassManager &device) {
  device.addPass(createConvertVectorToLLVMPass());
  device.addPass(createConvertComplexToLLVMPass());
  device.addPass(createConvertMathToLLVMPass());
  device.addPass(createConvertIndexToLLVMPass());
  device.addPass(createArithToLLVMConversionPass());
  device.addPass(createUBToLLVMConversionPass());
  device.addPass(createCanonicalizerPass());
  device.addPass(createCSEPass());
}
