//===- BooleanMemory.h - i1 in memory is bytes ------------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_COMMON_BOOLEANMEMORY_H
#define REDFUSE_CODEGEN_COMMON_BOOLEANMEMORY_H

#include "mlir/IR/PatternMatch.h"

namespace redfuse {

/// Loads and stores of i1, scalars and vectors, read and write bytes.
void populateBooleanMemoryPatterns(mlir::RewritePatternSet &patterns);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_COMMON_BOOLEANMEMORY_H
