//===- DeviceLibraries.h - what only ROCm's libraries have ------*- C++ -*-===//
#ifndef REDFUSE_LIB_CONVERSION_GPUTOROCDL_DEVICELIBRARIES_H
#define REDFUSE_LIB_CONVERSION_GPUTOROCDL_DEVICELIBRARIES_H

#include "mlir/IR/Operation.h"

namespace redfuse {

/// Reports, at `op`, that `function` (as llvm.intr.exp, math.cbrt, __ocml_erf_f64) of
/// `type` has no code without ROCm's device libraries, and what would have. Failure.
llvm::LogicalResult reportMissingFunction(mlir::Operation *op,
                                          llvm::StringRef function,
                                          mlir::Type type);

} // namespace redfuse

#endif // REDFUSE_LIB_CONVERSION_GPUTOROCDL_DEVICELIBRARIES_H
