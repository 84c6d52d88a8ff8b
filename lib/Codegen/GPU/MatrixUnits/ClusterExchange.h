//===- ClusterExchange.h - states sent within a cluster ---------*- C++ -*-===//
//
// Each block sends its states into memory that has no other use, or none any more, after
// all blocks have said so and set up the barrier that counts the bytes; a block ends after
// it has received all.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_CLUSTEREXCHANGE_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_CLUSTEREXCHANGE_H

#include "SharedStorage.h"
#include "StateMerge.h"

namespace redfuse {

/// Blocks of a cluster send each other the rows of their states that these merge.
class ClusterExchange : KernelPart {
public:
  ClusterExchange(MatrixKernel &of, SharedStorage &storage, StateMerge &merge)
      : KernelPart(of), storage(storage), merge(merge),
        states(of.plan, of.space) {}

  /// Every row to the block that merges it, by the threads that have it.
  void send(const llvm::DenseMap<unsigned, Fragment> &sent);
  /// What a block of the cluster has sent, in the current layout.
  StateMerge::States load(mlir::Value row, int64_t block);

private:
  /// The block's number in the cluster; a row of the tile, the thread's number among
  /// those that have it, and whether it is the first of them.
  struct SentRow {
    mlir::Value own, at, t, isFirst;
  };
  void sendRow(const llvm::DenseMap<unsigned, Fragment> &sent, unsigned half,
               const SentRow &row);

  SharedStorage &storage;
  StateMerge &merge;
  StateLayout states;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_CLUSTEREXCHANGE_H
