//===- FragmentMath.h - arithmetic of fragments -----------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTMATH_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTMATH_H

#include "FragmentPlace.h"

namespace redfuse {

/// exp(c * (x - p)) is 2 to the power of x * by + from.
struct ExponentialScale {
  Fragment by, from;
};

/// Emits what ops do, for all elements of a thread.
class FragmentMath {
public:
  FragmentMath(mlir::OpBuilder &b, mlir::Location loc, const MatrixPlan &plan,
               FragmentPlace &place)
      : b(b), loc(loc), plan(plan), place(place), ptx(b, loc) {}

  /// The value of an op for these operands.
  Fragment apply(mlir::Operation *op, llvm::ArrayRef<Fragment> operands);
  /// x * factor / y, where y and the factor (if there is one) are rows.
  Fragment divideRows(Fragment x, const std::optional<Fragment> &factor,
                      const Fragment &y);
  /// The constant by which an exponential multiplies a distance from a pivot, and the
  /// distance.
  static std::pair<float, mlir::arith::SubFOp>
  getDistance(mlir::Operation *exponential);
  /// Of an exponential of a distance from `pivot`.
  ExponentialScale scaleOfExponential(mlir::Operation *op,
                                      const Fragment &pivot);
  Fragment exponential(const Fragment &x, const ExponentialScale &scale);
  /// Whether some value of the warp's rows is above its row's limit, or no number (i1,
  /// the same in a warp).
  mlir::Value isAbove(const Fragment &value, const Fragment &limit);
  /// What a value is a positive multiple of, and by how much.
  std::pair<mlir::Value, mlir::Value> scaleOf(mlir::Value v);

private:
  Fragment roundPairs(mlir::Type element, const Fragment &x);
  Fragment exponential(mlir::Operation *op, const Fragment &x);
  Fragment divide(mlir::arith::DivFOp div, const Fragment &x,
                  const Fragment &y);
  mlir::Value product(mlir::Value x, mlir::Value y);
  mlir::Value emitElement(mlir::Operation *op,
                          llvm::ArrayRef<mlir::Value> operands);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const MatrixPlan &plan;
  FragmentPlace &place;
  Ptx ptx;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTMATH_H
