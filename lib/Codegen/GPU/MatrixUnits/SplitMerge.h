//===- SplitMerge.h - blocks that have a split each -------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_SPLITMERGE_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_SPLITMERGE_H

#include "ClusterExchange.h"
#include "StateWorkspace.h"

namespace redfuse {

/// The blocks of a cluster merge their states through shared memory, a part of the
/// rows each; where there are several clusters, or none, every block stores what it
/// has, and the last one reads that of all, in the order of splits, and merges it.
class SplitMerge : KernelPart {
public:
  SplitMerge(MatrixKernel &of, SharedStorage &storage, TilePlacement &placement,
             Epilogue &epilogue)
      : KernelPart(of), storage(storage), placement(placement),
        epilogue(epilogue), stateMerge(of), exchange(of, storage, stateMerge),
        workspace(of, storage, stateMerge, epilogue),
        states(of.plan, of.space) {}

  /// And finishes the tile.
  void run(const llvm::DenseMap<unsigned, Fragment> &own);

private:
  void selectStep();
  void inBranch(mlir::Value condition, llvm::function_ref<void()> body);
  void mergeInWorkspace(const llvm::DenseMap<unsigned, Fragment> &own);
  void mergeInClusters(const llvm::DenseMap<unsigned, Fragment> &own);

  SharedStorage &storage;
  TilePlacement &placement;
  Epilogue &epilogue;
  StateMerge stateMerge;
  ClusterExchange exchange;
  StateWorkspace workspace;
  StateLayout states;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_SPLITMERGE_H
