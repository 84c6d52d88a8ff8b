//===- DeviceConstants.h - constants of the host on a GPU -------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_COMMON_DEVICECONSTANTS_H
#define REDFUSE_CODEGEN_GPU_COMMON_DEVICECONSTANTS_H

#include "llvm/ADT/StringRef.h"

namespace redfuse {

/// On a memref.alloc of host code for a GPU: the memref.global whose copy on the
/// GPU it stands for.
inline constexpr llvm::StringLiteral kConstantAttr = "redfuse.constant";

} // namespace redfuse

#endif
