//===- DeviceModule.h - where a program's kernels are -----------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_COMMON_DEVICEMODULE_H
#define REDFUSE_CODEGEN_GPU_COMMON_DEVICEMODULE_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace redfuse {

/// On the module of kernels: the highest level at which LLVM may optimise them.
inline constexpr llvm::StringLiteral kMostOptLevelAttr =
    "redfuse.most_opt_level";

/// The module of all kernels, made at the end of the program if there is none yet.
mlir::gpu::GPUModuleOp getDeviceModule(mlir::ModuleOp module);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_COMMON_DEVICEMODULE_H
