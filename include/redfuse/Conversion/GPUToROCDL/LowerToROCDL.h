//===- LowerToROCDL.h - from gpu.func to the ROCDL dialect ------*- C++ -*-===//
#ifndef REDFUSE_CONVERSION_GPUTOROCDL_LOWERTOROCDL_H
#define REDFUSE_CONVERSION_GPUTOROCDL_LOWERTOROCDL_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace redfuse {

/// From `gpu.func` on memrefs to the ROCDL dialect for the
/// chip of the module's `redfuse.target`. Math
/// becomes arithmetic, so that nothing of ROCm's device libraries is needed but
/// the sizes of grid and block.
void buildLowerToROCDL(mlir::OpPassManager &pm);
void registerLowerToROCDLPipeline();

} // namespace redfuse

#endif // REDFUSE_CONVERSION_GPUTOROCDL_LOWERTOROCDL_H
