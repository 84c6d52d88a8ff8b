//===- DevicePipeline.h - what pipelines of all GPUs share ------*- C++ -*-===//
#ifndef REDFUSE_LIB_CONVERSION_DEVICEPIPELINE_H
#define REDFUSE_LIB_CONVERSION_DEVICEPIPELINE_H

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace redfuse {

/// Makes a gpu.module small before it is lowered.
void addDeviceCleanup(mlir::OpPassManager &device);
/// Loops and subscripts become branches and arithmetic, vectors LLVM's.
void addDeviceControlFlow(mlir::OpPassManager &device);
/// Loads and stores marked `nontemporal` keep out of a multiprocessor's cache.
std::unique_ptr<mlir::Pass> createStreamedAccesses();

/// Low words of f64 are taken by an instruction that ptxas cannot mistake.
std::unique_ptr<mlir::Pass> createLowWords();
/// What no conversion to a target's dialect has taken.
void addDeviceToLLVM(mlir::OpPassManager &device);

} // namespace redfuse

#endif
