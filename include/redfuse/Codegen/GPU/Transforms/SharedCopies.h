//===- SharedCopies.h - work on values that lanes share ---------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_TRANSFORMS_SHAREDCOPIES_H
#define REDFUSE_CODEGEN_GPU_TRANSFORMS_SHAREDCOPIES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace redfuse {

/// Where lanes of a warp of that size have copies of several values, and a costly
/// function is computed of each, lets every lane compute it of one.
void shareCopies(mlir::gpu::GPUFuncOp func, int64_t warp);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_TRANSFORMS_SHAREDCOPIES_H
