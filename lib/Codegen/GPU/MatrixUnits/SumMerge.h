//===- SumMerge.h - partial sums of the blocks of a cluster -----*- C++ -*-===//
//
// Partial sums take the ring's memory after every consumer warp of the block is done
// with it, are read after all blocks of the cluster have stored theirs, and no block
// ends before all have read.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_SUMMERGE_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_SUMMERGE_H

#include "Epilogue.h"

namespace redfuse {

/// Blocks, one cluster, that have a part of the sums of a tile of results each.
class SumMerge : KernelPart {
public:
  SumMerge(MatrixKernel &of, SharedStorage &storage, TilePlacement &placement,
           Epilogue &epilogue)
      : KernelPart(of), storage(storage), placement(placement),
        epilogue(epilogue), sums(of.plan) {}

  /// Where the others read them.
  void store();
  /// Every block of the cluster finishes a part of the rows, in a layout in which
  /// all of its warps have some.
  void merge();

private:
  mlir::Value asWordOf(mlir::Type type, mlir::Value word);

  SharedStorage &storage;
  TilePlacement &placement;
  Epilogue &epilogue;
  PartialSumLayout sums;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_SUMMERGE_H
