//===- WindowChecks.h - indices that are more than a plain dim --*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_WINDOWCHECKS_H
#define REDFUSE_LIB_TRANSFORMS_WINDOWCHECKS_H

#include "AccessChecks.h"

namespace redfuse {

/// Checks the dims of operands of `op` that `maps` index by more than a plain
/// dim: windows, flips, quotients and remainders. An error for those of static
/// extents that reach outside, an assertion in front of `op` for those of dynamic
/// extents that are not known to stay inside.
mlir::LogicalResult checkWindows(AccessChecks &checks, mlir::Operation *op,
                                 llvm::ArrayRef<mlir::AffineMap> maps);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_WINDOWCHECKS_H
