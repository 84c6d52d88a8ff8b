//===- TileScheduler.h - which tiles a block takes --------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_TILESCHEDULER_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_TILESCHEDULER_H

#include "SharedStorage.h"

namespace redfuse {

/// Which tiles of results a block takes: round after round, as a dynamic scheduler answers, or the
/// one that it shares with others.
class TileScheduler : KernelPart {
public:
  TileScheduler(MatrixKernel &of, SharedStorage &storage,
                TilePipeline &pipeline)
      : KernelPart(of), storage(storage), pipeline(pipeline) {}

  using TileBody =
      llvm::function_ref<PipelineState(mlir::Value tile, PipelineState ring)>;
  /// Producer and consumers take the same tiles in the same order. Blocks of a cluster that
  /// copy for each other have tiles side by side, of the same number. Where the ring stands
  /// at the end.
  PipelineState forEachTile(bool isConsumer, TileBody body);
  /// Asks for tiles, a thread of its own, until there are none.
  void answerRequests();

  /// Whether the block's tile is an odd one, by its own count (i32): the phase of
  /// barriers that complete once a tile.
  mlir::Value getTilePhase() const { return tilePhase; }
  /// The block's first tile.
  mlir::Value firstTile();

private:
  PipelineState forEachAnswer(bool isConsumer, TileBody body);
  /// The block's number among so many; those of a cluster that copy for each other have one.
  std::pair<mlir::Value, mlir::Value> findNumbers();

  SharedStorage &storage;
  TilePipeline &pipeline;
  mlir::Value tilePhase;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_TILESCHEDULER_H
