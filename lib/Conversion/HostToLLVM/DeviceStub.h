//===- DeviceStub.h - calls that are launches on a GPU ----------*- C++ -*-===//
#ifndef REDFUSE_LIB_CONVERSION_DEVICESTUB_H
#define REDFUSE_LIB_CONVERSION_DEVICESTUB_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"

namespace redfuse {

/// The GPU's function that a call, or the external function it calls, stands for.
inline constexpr llvm::StringLiteral kDeviceAttr = "redfuse.device";

} // namespace redfuse

#endif // REDFUSE_LIB_CONVERSION_DEVICESTUB_H
