//===- ExpandMath.h - math functions for targets ----------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CONVERSION_EXPANDMATH_H
#define REDFUSE_LIB_CONVERSION_EXPANDMATH_H

#include "mlir/IR/PatternMatch.h"

namespace redfuse {

/// What an NVIDIA GPU does by instructions of its own.
void populateExpandMathGPU(mlir::RewritePatternSet &patterns);

} // namespace redfuse

#endif // REDFUSE_LIB_CONVERSION_EXPANDMATH_H
