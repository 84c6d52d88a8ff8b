//===- MatrixMasks.h - what predicates leave --------------------*- C++ -*-===//
//
// The ranges of the streamed dim in which masks (Plan/StreamMasks.h) leave something,
// or all, as values of the generated kernel.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_MATRIXMASKS_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_MATRIXMASKS_H

#include "FragmentEmitter.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/StreamMasks.h"

namespace redfuse {

class MatrixMasks {
public:
  MatrixMasks(mlir::OpBuilder &b, mlir::Location loc, const MatrixPlan &plan,
              const DimSets &sets, llvm::ArrayRef<StreamMask> masks,
              FragmentPlace &place, FragmentEmitter &emitter)
      : b(b), loc(loc), plan(plan), sets(sets), masks(masks), place(place),
        emitter(emitter) {}

  /// Elements of the streamed dim, from begin to end.
  struct Range {
    mlir::Value begin, end;
  };
  /// Outside of it no row of the block has anything but identities. `first` and
  /// `last` are the block's rows.
  Range possible(mlir::Value first, mlir::Value last);
  /// Inside of it every mask keeps its element.
  Range certain(mlir::Value first, mlir::Value last);

private:
  /// stream * a + row * b + rest.
  struct Linear {
    int64_t a = 0, b = 0;
    mlir::Value rest;
  };
  std::optional<Linear> linear(mlir::Value v);
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
  llvm::ArrayRef<StreamMask> masks;
  FragmentPlace &place;
  FragmentEmitter &emitter;
  mlir::Value firstRow, lastRow;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_MATRIXMASKS_H
