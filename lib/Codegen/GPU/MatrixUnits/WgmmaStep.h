//===- WgmmaStep.h - a step with wgmma --------------------------*- C++ -*-===//
//
// What a step does besides its products should be little: while a warpgroup is
// at it, its products wait. So a sum of rows stays what each thread has summed
// until the fold is over, and where pivots are lazy, all that their moves take
// (the maxima of rows, which are exchanged between threads, exponentials of distances,
// the transport of states) is in one branch that few steps enter.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_WGMMASTEP_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_WGMMASTEP_H

#include "FoldStep.h"
#include "PingPong.h"

namespace redfuse {

/// The products of a step run while those of the step before are added to its states.
class WgmmaStep : public FoldStep {
public:
  WgmmaStep(MatrixKernel &of, TilePipeline &pipeline, Products &products,
            PivotUpdates &pivots, const StreamPosition &position,
            PingPong &pingPong)
      : FoldStep(of, pipeline, products, pivots, position), pingPong(pingPong) {
  }

  Carried emit(Carried before, bool isFirst) override;

private:
  void emitTransports(mlir::ValueRange states);

  PingPong &pingPong;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_WGMMASTEP_H
