//===- WarpCopies.h - copies by all warps of a block ------------*- C++ -*-===//
//
// All warps of a block copy every tile together (cp.async), some tiles ahead, and
// multiply each its own rows. What one block waits for, another one of the
// multiprocessor has time for; so a step computes in the program's order, and one
// tile of the grid is all that a block does.
//
// Rules:
// 1. Tiles are used in one order, that of the steps and of the products in a step
//    (first those of inputs, then those onto states). Each has a stage, in turn, and
//    a group of copies, which is empty where there is no such tile any more: so how
//    many groups may run is a constant.
// 2. Before a tile is used, every thread waits for its own copies of it, then for
//    all threads. From then on it is there, and all warps are done with the tile
//    before it, as products are over at once: the next copies go to that one's stage.
// 3. All threads of the block come to each use: nothing that differs between them
//    decides about one.
// 4. What stays in shared memory for all steps is copied with the first tile.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_WARPCOPIES_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_WARPCOPIES_H

#include "SharedStorage.h"
#include "TilePlacement.h"

namespace redfuse {

class WarpCopies : KernelPart {
public:
  WarpCopies(MatrixKernel &of, SharedStorage &storage, TilePipeline &pipeline,
             TilePlacement &placement, StreamRanges &stream)
      : KernelPart(of), storage(storage), pipeline(pipeline),
        placement(placement), stream(stream) {}

  /// Starts this thread's copies of the tile at the emitter's position.
  void copyRows(const MatrixTile &tile, mlir::Value into, mlir::Value sumTile);
  /// Until at most so many groups of copies run, in all threads.
  void synchronize(int64_t pending);
  mlir::Value stageBefore(mlir::Value stage);

  /// Rule 4, and the tiles that are under way before the first one is used.
  void startStream(const StreamSteps &steps);
  /// Rule 2. The stage of the tile at that position of a step.
  mlir::Value takeTile(PipelineState &ring, size_t position, mlir::Value step,
                       mlir::Value end);

private:
  void copyAhead(mlir::Value stage, size_t position, mlir::Value step,
                 mlir::Value end);
  bool hasAllRows(const MatrixTile &tile) const;

  SharedStorage &storage;
  TilePipeline &pipeline;
  TilePlacement &placement;
  StreamRanges &stream;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_WARPCOPIES_H
