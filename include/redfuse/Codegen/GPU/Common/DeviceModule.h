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

/// `base`, or where a kernel has that name, also one that is not generated yet, `base`
/// and a number: a user's function may be called like what the compiler makes.
std::string makeKernelName(mlir::gpu::GPUModuleOp device, llvm::StringRef base);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_COMMON_DEVICEMODULE_H
