//===- LastBlockMerge.h - one block merges the states of all ----*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_LASTBLOCKMERGE_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_LASTBLOCKMERGE_H

#include "FoldStates.h"

#include "redfuse/Codegen/Common/KernelGenerator.h"

namespace redfuse {

/// Where the blocks of a launch fold a split of a tile each: the last one of a tile to
/// be done merges the states of all, and goes on.
class LastBlockMerge {
public:
  /// The split and the tile of this block, by their numbers; the memory for the states
  /// of all blocks, and the counters of those that are done.
  struct Place {
    mlir::Value split, tile, workspace, counters;
  };

  LastBlockMerge(mlir::OpBuilder &b, mlir::Location loc,
                 const KernelSpace &space, const RegisterLayout &layout,
                 ThreadPositions &positions, ThreadExchange &exchange,
                 FoldStates &states, const Place &place)
      : b(b), loc(loc), space(space), layout(layout), positions(positions),
        exchange(exchange), states(states), place(place) {}

  /// Stores the states of this block; what follows is in the last block alone, which
  /// has those of all. `isForFirst`: only the first thread needs them.
  void merge(FoldOp fold, bool isForFirst);

private:
  llvm::SmallVector<int64_t> findSharingDims(FoldOp fold) const;
  mlir::Value isLastOfTile(int64_t splits);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const KernelSpace &space;
  const RegisterLayout &layout;
  ThreadPositions &positions;
  ThreadExchange &exchange;
  FoldStates &states;
  Place place;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_LASTBLOCKMERGE_H
