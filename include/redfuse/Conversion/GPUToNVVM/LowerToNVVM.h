//===- LowerToNVVM.h - from gpu.func to the NVVM dialect --------*- C++ -*-===//
#ifndef REDFUSE_CONVERSION_GPUTONVVM_LOWERTONVVM_H
#define REDFUSE_CONVERSION_GPUTONVVM_LOWERTONVVM_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace redfuse {

/// From `gpu.func` on memrefs to the NVVM dialect for the chip of the module's
/// `redfuse.target`; `gpu-module-to-binary` makes PTX of it.
/// `strict`: no instructions of lower accuracy than the functions of libdevice.
void buildLowerToNVVM(mlir::OpPassManager &pm, unsigned level,
                      bool strict = false);
void registerLowerToNVVMPipeline();

} // namespace redfuse

#endif // REDFUSE_CONVERSION_GPUTONVVM_LOWERTONVVM_H
