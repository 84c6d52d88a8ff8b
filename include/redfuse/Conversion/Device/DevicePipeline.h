//===- DevicePipeline.h - what pipelines of all GPUs share ------*- C++ -*-===//
#ifndef REDFUSE_CONVERSION_DEVICE_DEVICEPIPELINE_H
#define REDFUSE_CONVERSION_DEVICE_DEVICEPIPELINE_H

#include "mlir/Pass/PassManager.h"

namespace redfuse {

// What these add runs on one function after the other, or on some at a time: all
// passes go over a function while it is in the caches, and a function that needs
// another round of a pass asks for none of the others. A program has hundreds.

/// Makes a gpu.module's functions small before they are lowered.
void addDeviceCleanup(mlir::OpPassManager &device);
/// Loops and subscripts become branches and arithmetic, vectors LLVM's.
void addDeviceControlFlow(mlir::OpPassManager &device);
/// What no conversion to a target's dialect has taken.
void addDeviceToLLVM(mlir::OpPassManager &device);

} // namespace redfuse

#endif
