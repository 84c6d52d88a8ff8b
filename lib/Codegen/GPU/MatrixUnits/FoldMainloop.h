//===- FoldMainloop.h - a fold along the streamed dim -----------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FOLDMAINLOOP_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FOLDMAINLOOP_H

#include "FoldStep.h"
#include "RowSums.h"
#include "TileScheduler.h"

namespace redfuse {

/// Folds the streamed dim for a tile of results: what is the same in all steps, the
/// first step, loops over the others, and what the last one leaves to add.
class FoldMainloop : KernelPart {
public:
  FoldMainloop(MatrixKernel &of, SharedStorage &storage, TilePipeline &pipeline,
               TileScheduler &scheduler, TilePlacement &placement,
               StreamRanges &stream, Products &products,
               StreamPosition &position, FoldStep &step, RowSums &rowSums)
      : KernelPart(of), storage(storage), pipeline(pipeline),
        scheduler(scheduler), placement(placement), stream(stream),
        products(products), position(position), step(step), rowSums(rowSums) {}

  /// The states; `ring` is where the next tile starts.
  StateFragments run(PipelineState &ring);

private:
  /// A loop over some of the steps behind the first.
  struct Loops;
  Carried startStates(PipelineState ring);
  PipelineState emitInvariants(PipelineState ring);
  PipelineState loadInvariants(PipelineState ring);
  llvm::DenseSet<mlir::Value> findChanges();
  mlir::Value skipSteps(Carried &carried);
  PipelineState passStages(mlir::Value count, PipelineState ring);
  Carried emitStep(Carried before, bool isFirst, mlir::Value at);
  Carried emitLoop(Carried carried, mlir::Value from, mlir::Value to,
                   bool isWhole);
  void addRest(Carried &carried);
  llvm::SmallVector<mlir::Value> flatten(const Carried &carried);
  void unflatten(mlir::ValueRange list, Carried &carried);

  SharedStorage &storage;
  TilePipeline &pipeline;
  TileScheduler &scheduler;
  TilePlacement &placement;
  StreamRanges &stream;
  Products &products;
  StreamPosition &position;
  FoldStep &step;
  RowSums &rowSums;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FOLDMAINLOOP_H
