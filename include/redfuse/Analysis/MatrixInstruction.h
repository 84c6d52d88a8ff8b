//===- MatrixInstruction.h - products of small matrices ---------*- C++ -*-===//
//
// What instructions of a warp (NVIDIA's mma.sync) or wave (AMD's MFMA, WMMA)
// multiply, and which lane has which elements. A lane's share is given by *parts*:
// a field of the lane's number says which part of the rows, columns or sums is the
// lane's, and the lane has all elements of the part. Products do not change with
// the order of rows, columns and sums, so whoever loads operands may say which rows
// of memory the rows of a part are: neighbours, which one access moves.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_ANALYSIS_MATRIXINSTRUCTION_H
#define REDFUSE_ANALYSIS_MATRIXINSTRUCTION_H

#include "redfuse/Support/Chips.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace redfuse {

/// What the elements of an operand are.
enum class MatrixElement {
  BF16,
  F16,
  S8,
  U8,
  E4M3,
  E5M2,
  E4M3FNUZ,
  E5M2FNUZ,
  F32,
  F64
};

/// Bits of one.
unsigned elementBits(MatrixElement element);
/// Its name as the type of an element; integers have a sign, or none.
mlir::Type nameOf(MatrixElement element, mlir::MLIRContext *context);
std::optional<MatrixElement> findMatrixElement(mlir::Type name);
/// The type of one; integers have no sign.
mlir::Type typeOf(MatrixElement element, mlir::MLIRContext *context);

/// A field of the lane's number: lane / by % count * scale.
struct LaneField {
  int64_t by = 1, count = 1, scale = 1;
};

struct MatrixInstruction {
  /// The name of LLVM's intrinsic.
  std::string intrinsic;
  MatrixElement left, right;
  /// Of sums: f32, i32 or f64.
  mlir::Type sum;
  int64_t lanes = 32;
  /// Of the product: a left operand of `rows` x `sums` and a right one of
  /// `sums` x `columns`.
  int64_t rows = 16, columns = 8, sums = 16;
  /// Which part of the rows, columns and sums a lane has of the operands, and how
  /// many elements of it.
  LaneField leftRow, rightColumn, sumPart;
  int64_t rowsPerLane = 1, sumsPerLane = 1;
  /// Which part of rows and columns the lane has of the result: these, plus what
  /// `results` says for each element, which is number `row` of its part.
  LaneField resultRow, resultColumn;
  struct Place {
    int64_t rowPart, row, columnPart;
  };
  llvm::SmallVector<Place> results;

  /// The words of 32 bits (elements, where they are longer) that a lane has for
  /// each of its rows.
  int64_t wordsPerRow() const {
    return sumsPerLane * std::min(elementBits(left), 32u) / 32;
  }
  /// Sums start here.
  llvm::SmallVector<mlir::Value> makeZero(mlir::OpBuilder &b,
                                          mlir::Location loc) const;
  /// Adds a product (tile.mma): `left` has the words of the lane's rows, `right`
  /// those of its column; `sums` as makeZero has made them.
  llvm::SmallVector<mlir::Value>
  multiply(mlir::OpBuilder &b, mlir::Location loc,
           llvm::ArrayRef<llvm::ArrayRef<mlir::Value>> left,
           llvm::ArrayRef<mlir::Value> right,
           llvm::ArrayRef<mlir::Value> sums) const;
  /// The instruction itself; `left` has the words of all rows.
  llvm::SmallVector<mlir::Value> emit(mlir::OpBuilder &b, mlir::Location loc,
                                      mlir::ValueRange left,
                                      mlir::ValueRange right,
                                      mlir::ValueRange sums) const;
  /// The instruction multiplies TF32, the upper 19 bits of the words: a product of f32 is
  /// that of the parts of its factors.
  bool isSplit = false;
  /// The elements of sums, as many as `results`.
  llvm::SmallVector<mlir::Value>
  getElements(mlir::OpBuilder &b, mlir::Location loc,
              llvm::ArrayRef<mlir::Value> sums) const;

  /// How registers are handed to the intrinsic.
  enum class Form { Words, Pairs, Halves, Shorts, Integer, Integers, Scalar };
  Form form = Form::Words;
  /// NVIDIA's have a register for each element of a sum, AMD's one vector.
  bool hasVectors() const { return form != Form::Words && form != Form::Pairs; }
};

/// The instruction of an architecture for operands that are any of `left` and
/// `right`, best first.
std::optional<MatrixInstruction>
findMatrixInstruction(const Chip &chip, llvm::ArrayRef<MatrixElement> left,
                      llvm::ArrayRef<MatrixElement> right, mlir::Type sum);

/// The instruction by which products of f32 are made of parts of their factors, if the
/// architecture has one.
std::optional<MatrixInstruction> findSplitInstruction(const Chip &chip,
                                                      mlir::Type sum);

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_MATRIXINSTRUCTION_H
