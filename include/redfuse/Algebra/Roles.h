//===- Roles.h - what the values of a body are to a fold --------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_ALGEBRA_ROLES_H
#define REDFUSE_ALGEBRA_ROLES_H

#include "redfuse/Dialect/Redfuse/IR/DimSets.h"

namespace redfuse {

/// What a value of a body is to a fold of some dims ("J").
enum class Role {
  /// Depends neither on J nor on a reduction over J: constants, row inputs.
  Free,
  /// Depends on J and on no reduction over J: data.
  Data,
  /// Depends on a reduction over J, not on J itself: known when J is done.
  Done,
  /// Depends on both: what the algebra has to take apart.
  Mixed
};

/// Roles, equal values and signs in one body. No IR is changed.
class Roles {
public:
  /// Expects a verified body. `over` are the folded dims; the reductions in
  /// `complete` have been computed before.
  static mlir::FailureOr<Roles> compute(IndexProgramOpInterface op,
                                        llvm::ArrayRef<int64_t> over,
                                        llvm::ArrayRef<ReduceOp> complete = {});

  Role operator[](mlir::Value value) const;

  /// The first value of the body that is computed in the same way.
  mlir::Value canonical(mlir::Value value) const;

  /// Whether `reduce` reduces over a folded dim.
  bool isStage(ReduceOp reduce) const;
  /// Whether `scan` runs along a folded dim: its results are known for the
  /// elements so far.
  bool isRunning(ScanOp scan) const { return over.test(scan.getDim()); }
  /// Whether `value` needs the result of such a scan.
  bool isRunning(mlir::Value value) const { return running.contains(value); }

  const DimSets &getDims() const { return dims; }
  const SmallBitVector &getOver() const { return over; }

  /// The number of points of `folded`, or nothing where it is dynamic.
  std::optional<int64_t> getCount(llvm::ArrayRef<int64_t> folded) const;
  /// Whether a scalar from outside is the number of points of `folded`, which is
  /// dynamic.
  bool isCount(mlir::Value scalar, llvm::ArrayRef<int64_t> folded) const;
  /// Whether `folded` can have no point at run time.
  bool canBeEmpty(llvm::ArrayRef<int64_t> folded) const {
    return getCount(folded).value_or(0) == 0;
  }

  /// Facts that hold for every value that is not NaN. Only those that follow
  /// from the way a value is made.
  bool isNonNegative(mlir::Value value, unsigned depth = 0) const;
  bool isNonZero(mlir::Value value, unsigned depth = 0) const;
  /// Finite, unless it overflows.
  bool isBounded(mlir::Value value, unsigned depth = 0) const;

  /// Whether `reduce` is a sum of exponentials in which the largest one is
  /// exp(0), so that it is at least 1 (or NaN), unless it is over nothing.
  bool isNormaliser(ReduceOp reduce) const;

private:
  llvm::DenseMap<mlir::Value, Role> roles;
  llvm::DenseMap<mlir::Value, mlir::Value> firsts;
  llvm::DenseSet<mlir::Value> running;
  DimSets dims = DimSets();
  SmallBitVector over;
  llvm::DenseSet<mlir::Operation *> complete;
  llvm::SmallVector<int64_t> extents;
  mutable IndexProgramOpInterface program;
};

/// The constant behind `value` through casts between float types, if any.
std::optional<double> getConstant(mlir::Value value);

/// Merges ops of one block that compute the same and erases unused ones.
void simplifyBody(mlir::Block &body);

} // namespace redfuse

#endif // REDFUSE_ALGEBRA_ROLES_H
