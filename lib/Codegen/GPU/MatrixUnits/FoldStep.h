//===- FoldStep.h - a step of a fold ----------------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FOLDSTEP_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FOLDSTEP_H

#include "PivotUpdates.h"
#include "Products.h"

namespace redfuse {

/// What a step carries to the next.
struct Carried {
  StateFragments states;
  /// Left operands of the products that are added to states a step later.
  llvm::SmallVector<mlir::Value> packed;
  /// What exponentials of matrices are made with, where their pivots are lazy.
  llvm::SmallVector<ExponentialScale> scales;
  PipelineState ring;
};

/// How a step of a fold is made; the order in which it multiplies and computes is that
/// of its kind.
class FoldStep : protected KernelPart {
public:
  virtual ~FoldStep() = default;

  /// Before the first step.
  virtual void start() {}
  /// The step of the mainloop, at which the emitter is.
  virtual Carried emit(Carried before, bool isFirst) = 0;

  /// Left operands in registers that are the same in all steps.
  llvm::DenseMap<unsigned, mlir::Value> leftOperands;

protected:
  FoldStep(MatrixKernel &of, TilePipeline &pipeline, Products &products,
           PivotUpdates &pivots, const StreamPosition &position)
      : KernelPart(of), pipeline(pipeline), products(products), pivots(pivots),
        position(position) {}

  /// What the state of a product is before its products are added.
  Fragment carryState(unsigned product, Fragment state);
  /// States that no product is added to.
  void yieldOthers(const Carried &before, Carried &after);

  TilePipeline &pipeline;
  Products &products;
  PivotUpdates &pivots;
  const StreamPosition &position;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FOLDSTEP_H
