//===- TilePipeline.h - the ring through which tiles pass -------*- C++ -*-===//
//
// Rules, with those of MatrixGenerator.h:
// 1. Producer and consumers walk the same tiles in the same order; both advance the
//    ring once a tile.
// 2. A stage is written after its `empty` barrier had an arrival of every consumer warp
//    (of all blocks of the cluster for which the block copies), and read after its
//    `full` barrier had all bytes (of all blocks that copy for it).
// 3. A consumer warp releases a stage after it waited for the products that read it.
// 4. What a warp has read of a stage by itself is in its registers before it releases
//    it: a load is not over when the next instruction starts.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_TILEPIPELINE_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_TILEPIPELINE_H

#include "MatrixKernel.h"

namespace redfuse {

/// Where a role stands in the ring: the stage, and the phase of its barriers.
struct PipelineState {
  mlir::Value stage, phase;
};

/// A ring of stages in shared memory with a pair of barriers each, which one thread fills
/// by copies of tensor maps.
class TilePipeline : KernelPart {
public:
  explicit TilePipeline(MatrixKernel &of) : KernelPart(of) {}

  /// At these addresses of shared memory.
  void create(mlir::Value tiles, mlir::Value barriers);
  void initBarriers();

  PipelineState start();
  PipelineState advance(PipelineState state);
  /// A tile in a stage, that many bytes into it.
  mlir::Value tileIn(mlir::Value stage, const MatrixTile &tile,
                     int64_t offset = 0);

  /// Waits until the stage is free; the barrier that counts the bytes of its copies.
  mlir::Value producerAcquire(PipelineState state, int64_t bytes);
  /// Waits until all stages are free: no block ends while others may arrive at its
  /// barriers.
  void producerTail(PipelineState state);
  /// Waits until the stage has all bytes.
  void consumerWait(PipelineState state);
  /// By every warp that waited.
  void consumerRelease(mlir::Value stage);

private:
  mlir::Value full(mlir::Value stage);
  mlir::Value empty(mlir::Value stage);

  mlir::Value ring;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_TILEPIPELINE_H
