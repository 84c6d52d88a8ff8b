//===- GpuAssertions.h - assertions of kernels ------------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_COMMON_GPUASSERTIONS_H
#define REDFUSE_CODEGEN_GPU_COMMON_GPUASSERTIONS_H

#include "mlir/IR/Builders.h"

namespace redfuse {

/// Code in a gpu.module that reports `message` to the host where `failed` (i1)
/// holds, and goes on.
void reportFailure(mlir::OpBuilder &b, mlir::Location loc, mlir::Value failed,
                   llvm::StringRef message);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_COMMON_GPUASSERTIONS_H
