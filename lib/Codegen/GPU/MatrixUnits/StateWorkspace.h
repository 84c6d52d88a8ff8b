//===- StateWorkspace.h - states of splits in global memory -----*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_STATEWORKSPACE_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_STATEWORKSPACE_H

#include "Epilogue.h"
#include "StateMerge.h"

namespace redfuse {

/// Every cluster stores its states; the last one reads those of all.
class StateWorkspace : KernelPart {
public:
  StateWorkspace(MatrixKernel &of, SharedStorage &storage, StateMerge &merge,
                 Epilogue &epilogue)
      : KernelPart(of), storage(storage), merge(merge), epilogue(epilogue),
        layoutOfStates(of.plan, of.space) {}

  void store(const llvm::DenseMap<unsigned, Fragment> &states);
  /// Counts what the block has stored; whether all others have stored theirs, which can
  /// be read then.
  mlir::Value count();
  /// The states of all clusters, in the order of splits, in the current layout.
  llvm::DenseMap<unsigned, Fragment> load();

private:
  int64_t clustersAtATime();
  llvm::SmallVector<StateMerge::States> loadSome(mlir::Value first,
                                                 int64_t count);
  mlir::Value view(mlir::Value cluster, unsigned state);

  SharedStorage &storage;
  StateMerge &merge;
  Epilogue &epilogue;
  StateLayout layoutOfStates;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_STATEWORKSPACE_H
