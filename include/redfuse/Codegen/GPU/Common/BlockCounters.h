//===- BlockCounters.h - which block is the last of a tile ------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_COMMON_BLOCKCOUNTERS_H
#define REDFUSE_CODEGEN_GPU_COMMON_BLOCKCOUNTERS_H

#include "mlir/IR/Builders.h"

namespace redfuse {

/// Counts a block of a tile as done, by one thread: how many were before it (i32).
/// The last one of `parts` blocks sets the counter back to zero.
mlir::Value countBlock(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value counters, mlir::Value tile, int64_t parts);

/// The same on NVIDIA GPUs, ordered: what the threads had stored that met this one at
/// a barrier is there for others before, and what others had is there behind. One
/// instruction waits for less than it takes between two fences.
mlir::Value countInOrder(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value counters, mlir::Value tile, int64_t parts);

/// Adds one to a counter that starts again at zero after `last` (i32); what it was
/// before.
mlir::Value countOne(mlir::OpBuilder &b, mlir::Location loc,
                     mlir::Value counters, mlir::Value at, mlir::Value last);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_COMMON_BLOCKCOUNTERS_H
