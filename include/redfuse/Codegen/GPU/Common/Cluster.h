//===- Cluster.h - blocks that run together ---------------------*- C++ -*-===//
//
// Blocks of a cluster (sm_90 and later) can write to each other's shared memory;
// addresses are 32-bit addresses of it. What orders memory is not moved over.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_COMMON_CLUSTER_H
#define REDFUSE_CODEGEN_GPU_COMMON_CLUSTER_H

#include "mlir/IR/Builders.h"

namespace redfuse {

/// Says that this block runs; and waits until all of the cluster do. By all threads,
/// once each.
void emitClusterArrive(mlir::OpBuilder &b, mlir::Location loc);
void emitClusterWait(mlir::OpBuilder &b, mlir::Location loc);

/// Waits until all threads of the cluster are here: each then sees what others have written to
/// global memory.
void emitClusterBarrier(mlir::OpBuilder &b, mlir::Location loc);

/// Stores a word at the same place of a block of the cluster.
void emitStoreInCluster(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::Value address, mlir::Value block,
                        mlir::Value word);

/// Waits until the kernels before this one in the stream have ended.
void emitLaunchWait(mlir::OpBuilder &b, mlir::Location loc);
/// Lets the next kernel's blocks start where there is room.
void emitLaunchStart(mlir::OpBuilder &b, mlir::Location loc);

/// Lets the thread pause for no time.
void emitPause(mlir::OpBuilder &b, mlir::Location loc);

/// Asks the second-level cache for bytes of global memory: multiples of 16.
void emitPrefetch(mlir::OpBuilder &b, mlir::Location loc, mlir::Value pointer,
                  mlir::Value bytes);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_COMMON_CLUSTER_H
