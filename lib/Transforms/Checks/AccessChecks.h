//===- AccessChecks.h - what holds before memory is touched -----*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_ACCESSCHECKS_H
#define REDFUSE_LIB_TRANSFORMS_ACCESSCHECKS_H

#include "redfuse/Analysis/IndexRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace redfuse {

/// Puts `cf.assert`s in front of operations, for what is not known to hold: by
/// the ranges of indices, and by what the program asserts or asks for itself.
/// Messages say where the operation stands, which, and `what` is wrong.
class AccessChecks {
public:
  explicit AccessChecks(mlir::Operation *root) : ranges(root) {}

  /// An index into dim `dim` of `tensor`. Where it is made of the positions of
  /// loops, and both ends of its range occur, these are looked at in front of
  /// the loops.
  void requireInside(mlir::Operation *op, mlir::Value index, mlir::Value tensor,
                     int64_t dim, const llvm::Twine &what);
  void requireEqual(mlir::Operation *op, const Extent &a, const Extent &b,
                    const llvm::Twine &what);
  void requireAtLeast(mlir::Operation *op, const Extent &number, int64_t least,
                      const llvm::Twine &what);
  /// a <= b, both not negative.
  void requireAtMost(mlir::Operation *op, const Extent &a, const Extent &b,
                     const llvm::Twine &what);
  /// These are the extents of a tensor: none is negative, and its elements'
  /// addresses are numbers.
  void requireSize(mlir::Operation *op, llvm::ArrayRef<Extent> extents,
                   mlir::Type element);
  /// Asserts what `makeCondition` makes in front of `op`.
  void require(mlir::Operation *op,
               llvm::function_ref<mlir::Value(mlir::OpBuilder &)> makeCondition,
               const llvm::Twine &what);

  /// The product of extents, as the machine computes it; and whether a tensor of
  /// these, each taken for 1 at least, has an address for every byte.
  static mlir::Value makeProduct(mlir::OpBuilder &b, mlir::Location loc,
                                 llvm::ArrayRef<Extent> extents);
  static mlir::Value fitsInMemory(mlir::OpBuilder &b, mlir::Location loc,
                                  llvm::ArrayRef<Extent> extents,
                                  int64_t bytes);

  /// Of an element that is a number.
  static int64_t bytesOf(mlir::Type element);

  static Extent extentOf(mlir::Value tensor, int64_t dim) {
    return IndexRanges::traceExtent(tensor, dim);
  }
  static Extent constant(int64_t number) { return {number, mlir::Value(), -1}; }

  /// Notes that accesses of `op` are inside unless one of `spans` (from, to) has no
  /// number: a dim on which they do not depend.
  void
  guard(mlir::Operation *op,
        llvm::ArrayRef<std::pair<mlir::AffineExpr, mlir::AffineExpr>> spans);
  /// Makes each op that was noted a branch, taken where none of its spans is empty.
  /// Elsewhere it would do nothing, while whoever takes a read that does not depend
  /// on a dim out of the loop over that dim would execute the read.
  void makeGuards();

  IndexRanges ranges;

private:
  bool isAsserted(mlir::Operation *op, mlir::Value index,
                  mlir::AffineExpr extent, bool isLowKnown, bool isHighKnown);
  /// `orOne`: or the extent is 1.
  bool requireInFront(mlir::Operation *op, mlir::Value index,
                      const Extent &extent, const llvm::Twine &what,
                      bool orOne = false);
  /// Guards the bodies around `op` of whose positions its place does not speak.
  void guardBodies(mlir::Operation *op,
                   llvm::ArrayRef<mlir::Operation *> loops);
  bool isSmall(llvm::ArrayRef<Extent> extents, mlir::Type element);
  /// Whether the same was asserted in front of `op` before; else notes that it is.
  bool isRepeated(mlir::Operation *op, llvm::ArrayRef<Extent> numbers,
                  int64_t kind);
  void emit(mlir::OpBuilder &b, mlir::Operation *op, mlir::Value condition,
            const llvm::Twine &what);

  struct Done {
    llvm::SmallVector<Extent> numbers;
    int64_t kind;
    mlir::Operation *op;
  };
  llvm::SmallVector<Done> done;
  llvm::MapVector<
      mlir::Operation *,
      llvm::SmallVector<std::pair<mlir::AffineExpr, mlir::AffineExpr>>>
      guards;
};

/// Moves assertions to where all that they need is there.
void liftAssertions(mlir::func::FuncOp func);

/// Computes integers of constants, so that checks of them are decided.
void foldIntegers(mlir::func::FuncOp func);
/// Drops what is behind assertions that always fail.
void dropUnreached(mlir::func::FuncOp func);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_ACCESSCHECKS_H
