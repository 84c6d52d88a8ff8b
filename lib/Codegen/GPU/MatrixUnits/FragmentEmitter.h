//===- FragmentEmitter.h - values of a body as fragments --------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTEMITTER_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTEMITTER_H

#include "FragmentMath.h"
#include "FragmentMemory.h"
#include "FragmentReducer.h"

namespace redfuse {

/// Emits values of a body for one thread of a multiplying warp.
class FragmentEmitter {
public:
  FragmentEmitter(mlir::OpBuilder &b, mlir::Location loc,
                  const MatrixPlan &plan, const KernelSpace &space,
                  FragmentPlace &place, FragmentMemory &memory)
      : math(b, loc, plan, place), reducer(b, loc, place, *this), b(b),
        loc(loc), plan(plan), space(space), place(place), memory(memory) {}

  /// Selects the body whose values are emitted.
  void select(IndexProgramOpInterface newOp, const DimSets &dims) {
    op = newOp;
    sets = &dims;
  }
  /// Which dims values of that body depend on.
  const DimSets &getSets() const { return *sets; }

  /// The value in the current body; made at the insertion point unless it is in
  /// `values`.
  const Fragment &get(mlir::Value v);
  /// A constant in the shape that `v` has.
  Fragment fill(mlir::Value v, mlir::TypedAttr value);
  /// Tells the host of rows for which what the body asserts does not hold.
  void emitAssertions();
  /// The left operand of a product (!tile.operand).
  mlir::Value packLeft(const MatrixProduct &product);
  /// The values that a block of scalar ops yields for these arguments.
  llvm::SmallVector<Fragment> evaluate(mlir::Block &block,
                                       llvm::ArrayRef<Fragment> arguments);
  /// Values of such a block, from those that are known.
  llvm::SmallVector<Fragment>
  evaluate(mlir::Block &block, llvm::DenseMap<mlir::Value, Fragment> known,
           mlir::ValueRange wanted);
  /// The value that `op` is in this tile, where it need not be computed.
  mlir::Value simplify(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, Fragment> values;
  /// What tensors and scalars of the kernel are.
  llvm::DenseMap<mlir::Value, mlir::Value> memrefs;
  mlir::IRMapping captured;
  /// What exponentials (kPivotAttr) of matrices are made with, where it is known.
  llvm::DenseMap<mlir::Operation *, ExponentialScale> exponentials;
  /// What selects take where all columns of the tile exist.
  llvm::DenseMap<mlir::Operation *, mlir::Value> decided;
  FragmentMath math;
  FragmentReducer reducer;

private:
  Fragment make(mlir::Value v);
  Fragment makeUniform(mlir::Value v);
  std::optional<Fragment> divideRows(mlir::arith::DivFOp div,
                                     llvm::ArrayRef<Fragment> operands);
  /// An exponential that pullPivots marked; `of` gives the values it is made of.
  Fragment exponentialOfPivot(mlir::Operation *op,
                              llvm::function_ref<Fragment(mlir::Value)> of);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const MatrixPlan &plan;
  const KernelSpace &space;
  FragmentPlace &place;
  FragmentMemory &memory;
  IndexProgramOpInterface op;
  const DimSets *sets = nullptr;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTEMITTER_H
