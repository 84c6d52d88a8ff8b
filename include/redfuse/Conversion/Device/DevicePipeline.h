//===- DevicePipeline.h - what pipelines of all GPUs share ------*- C++ -*-===//
#ifndef REDFUSE_CONVERSION_DEVICE_DEVICEPIPELINE_H
#define REDFUSE_CONVERSION_DEVICE_DEVICEPIPELINE_H

#include "mlir/Pass/PassManager.h"

namespace redfuse {

/// Makes a gpu.module small before it is lowered.
void addDeviceCleanup(mlir::OpPassManager &device);
/// Loops and subscripts become branches and arithmetic, vectors LLVM's.
void addDeviceControlFlow(mlir::OpPassManager &device);
/// What no conversion to a target's dialect has taken.
void addDeviceToLLVM(mlir::OpPassManager &device);

} // namespace redfuse

#endif
