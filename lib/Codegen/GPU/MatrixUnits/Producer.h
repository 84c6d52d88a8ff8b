//===- Producer.h - the warp that loads tiles -------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PRODUCER_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PRODUCER_H

#include "TilePlacement.h"
#include "TileScheduler.h"

namespace redfuse {

/// One thread copies all tiles into the ring, in the order in which they are used.
class Producer : KernelPart {
public:
  Producer(MatrixKernel &of, SharedStorage &storage, TilePipeline &pipeline,
           TileScheduler &scheduler, TilePlacement &placement,
           StreamRanges &stream, SumRanges &sums)
      : KernelPart(of), storage(storage), pipeline(pipeline),
        scheduler(scheduler), placement(placement), stream(stream), sums(sums) {
  }

  /// Before the kernel waits for the one before it, the first tiles come to the
  /// second-level cache.
  void fetchAhead();
  void emit();

private:
  PipelineState loadBlock(PipelineState ring);
  PipelineState loadProducts(llvm::ArrayRef<unsigned> products,
                             PipelineState ring);
  PipelineState loadProduct(unsigned product, PipelineState ring);
  PipelineState loadTiles(llvm::ArrayRef<const MatrixTile *> tiles,
                          PipelineState ring, mlir::Value sumTile);
  void loadTile(const MatrixTile &tile, mlir::Value into, mlir::Value barrier,
                mlir::Value sumTile);
  void loadResidents();
  void fetch(const MatrixTile &tile, mlir::Value sumTile);
  void fetchSums();
  void fetchSteps();

  SharedStorage &storage;
  TilePipeline &pipeline;
  TileScheduler &scheduler;
  TilePlacement &placement;
  StreamRanges &stream;
  SumRanges &sums;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PRODUCER_H
