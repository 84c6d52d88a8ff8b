//===- MmaSyncStep.h - a step with mma.sync: warps copy, too ----*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_MMASYNCSTEP_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_MMASYNCSTEP_H

#include "FoldStep.h"
#include "WarpCopies.h"

namespace redfuse {

/// Products are over at once, and a step computes in the program's order.
class MmaSyncStep : public FoldStep {
public:
  MmaSyncStep(MatrixKernel &of, TilePipeline &pipeline, Products &products,
              PivotUpdates &pivots, const StreamPosition &position,
              WarpCopies &copies)
      : FoldStep(of, pipeline, products, pivots, position), copies(copies) {}

  void start() override { copies.startStream(position.steps); }
  Carried emit(Carried before, bool isFirst) override;

private:
  WarpCopies &copies;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_MMASYNCSTEP_H
