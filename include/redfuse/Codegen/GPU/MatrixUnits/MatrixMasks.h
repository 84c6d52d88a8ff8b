//===- MatrixMasks.h - what predicates leave --------------------*- C++ -*-===//
//
// Selects by comparisons of affine expressions of the row and of the streamed
// index (causal, windows, lengths, prefixes) decide about whole tiles: those in
// which nothing is left need not be walked, those in which all is left need no
// predicate.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_MATRIXMASKS_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_MATRIXMASKS_H

#include "redfuse/Codegen/GPU/MatrixUnits/Fragments.h"

namespace redfuse {

class MatrixMasks {
public:
  MatrixMasks(mlir::OpBuilder &b, mlir::Location loc, const MatrixPlan &plan,
              const DimSets &sets, FragmentEmitter &emitter);

  /// Elements of the streamed dim, from begin to end.
  struct Range {
    mlir::Value begin, end;
  };
  /// Outside of it no row of the block has anything but identities. `first` and
  /// `last` are the block's rows.
  Range possible(mlir::Value first, mlir::Value last);
  /// Inside of it every select of `getDecided` takes the operand named there.
  Range certain(mlir::Value first, mlir::Value last);
  /// The selects with what they are inside the certain range.
  const llvm::DenseMap<mlir::Operation *, mlir::Value> &getDecided() const {
    return decided;
  }

private:
  /// stream * a + row * b + rest.
  struct Linear {
    int64_t a = 0, b = 0;
    mlir::Value rest;
  };
  struct Mask {
    mlir::arith::SelectOp select;
    /// What the condition is where the element stays.
    bool keeps = true;
    /// Without the element every reduction of the step gets its identity.
    bool maySkip = false;
  };
  std::optional<Linear> linear(mlir::Value v);
  bool isAnalysable(mlir::Value condition);
  bool isIdentityWithout(mlir::arith::SelectOp select);
  Range rangeOf(mlir::Value condition, bool wanted, bool isCertain);
  Range compare(mlir::arith::CmpIOp cmp, bool wanted, bool isCertain);
  Range intersect(Range x, Range y);
  Range whole();
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value negate(mlir::Value x);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const MatrixPlan &plan;
  const DimSets &sets;
  FragmentEmitter &emitter;
  llvm::SmallVector<Mask> masks;
  llvm::DenseMap<mlir::Operation *, mlir::Value> decided;
  mlir::Value firstRow, lastRow;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_MATRIXMASKS_H
