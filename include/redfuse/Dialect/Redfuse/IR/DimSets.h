//===- DimSets.h - which iteration dims a value depends on ------*- C++ -*-===//
#ifndef REDFUSE_DIALECT_REDFUSE_IR_DIMSETS_H
#define REDFUSE_DIALECT_REDFUSE_IR_DIMSETS_H

#include "mlir/IR/Block.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"

namespace redfuse {

using llvm::SmallBitVector;

/// The dim set of every value of a body: the iteration dims on which it may
/// depend. One forward walk; a `redfuse.reduce` has its `into`, everything else
/// the union over its operands.
class DimSets {
public:
  /// For the body of `op`. Where a reduction is ill-formed (an operand depends on
  /// a dim that is neither in `over` nor in `into`, dims out of range) an error
  /// is emitted at the reduction and failure returned.
  static mlir::FailureOr<DimSets> compute(IndexProgramOpInterface op);

  /// The same for a block whose arguments have the given maps.
  static mlir::FailureOr<DimSets>
  compute(mlir::Block &body, unsigned numDims,
          llvm::function_ref<mlir::AffineMap(unsigned)> mapOfArgument);

  /// The dims of `value`; none for a value from outside the body.
  const SmallBitVector &operator[](mlir::Value value) const;

  unsigned getNumDims() const { return none.size(); }

private:
  llvm::DenseMap<mlir::Value, SmallBitVector> sets;
  SmallBitVector none;
};

/// The dims that occur in the results of `map`.
SmallBitVector getDimsOf(mlir::AffineMap map);
/// `dims` as a set of `size`.
SmallBitVector toDimSet(llvm::ArrayRef<int64_t> dims, unsigned size);
/// The members of `set`, ascending.
llvm::SmallVector<int64_t> toDims(const SmallBitVector &set);
/// Whether every member of `a` is one of `b`.
bool isSubset(const SmallBitVector &a, const SmallBitVector &b);

} // namespace redfuse

#endif // REDFUSE_DIALECT_REDFUSE_IR_DIMSETS_H
