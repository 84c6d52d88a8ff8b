//===- FragmentPlace.h - where the elements of a thread are -----*- C++ -*-===//
//
// A warp has 16 rows of a matrix. A thread has of each 8 columns four elements:
// rows g and g + 8, columns 2t and 2t + 1, where g = lane / 4 and t = lane % 4. (Or
// 32 rows, and of each 8 columns rows g + 16 and g + 24, too.)
// This is how matrix units leave a product, and (two neighbours packed) how they
// take a left operand, so that what one product makes can be the operand of the
// next without a shuffle. Values of fewer dims are kept once a thread. Products
// that were exchanged through memory have a layout with fewer rows a thread, and
// more threads a row.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTPLACE_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTPLACE_H

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/FragmentLayout.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"

namespace redfuse {

struct Fragment {
  enum class Kind { Uniform, Row, Column, Matrix };
  Kind kind = Kind::Uniform;
  /// Column, Matrix: the dim of the columns.
  unsigned dim = 0;
  /// The rows that a thread has: 2 as matrix units leave a product.
  unsigned rows = 2;
  /// Uniform: 1. Row: one a row. Column: the thread's columns in order. Matrix: of
  /// each two neighbouring columns, two elements a row.
  llvm::SmallVector<mlir::Value> values;

  /// The row and the column of element `i` of a matrix, counting the thread's.
  size_t rowOf(size_t i) const { return i / 2 % rows; }
  size_t columnOf(size_t i) const { return i / (2 * rows) * 2 + i % 2; }

  /// The element that goes with element `i` of a matrix.
  mlir::Value at(size_t i) const {
    switch (kind) {
    case Kind::Uniform:
      return values[0];
    case Kind::Row:
      return values[rowOf(i)];
    case Kind::Column:
      return values[columnOf(i)];
    case Kind::Matrix:
      return values[i];
    }
    llvm_unreachable("unknown kind");
  }
};

/// Which elements of the tile a thread has, where they are in the tensors, and which of
/// them exist.
class FragmentPlace {
public:
  FragmentPlace(mlir::OpBuilder &b, mlir::Location loc, const MatrixPlan &plan,
                const KernelSpace &space)
      : extents(space.numDims), offsets(space.numDims), ends(space.numDims),
        b(b), loc(loc), plan(plan), space(space), ptx(b, loc) {}

  /// Of which kind a value is that depends on `dims`.
  Fragment shapeOf(const SmallBitVector &dims) const;
  size_t sizeOf(const Fragment &shape) const;
  /// The shape of what is made of both.
  Fragment join(const Fragment &x, const Fragment &y) const;
  /// Which element of `f` goes with element `i` of a fragment of shape `shape`.
  mlir::Value elementFor(const Fragment &f, const Fragment &shape, size_t i);

  /// The row that is the thread's first, second and so on; a column likewise.
  mlir::Value rowAt(size_t half);
  mlir::Value columnAt(unsigned d, size_t column);
  /// The index of element `i` in every dim.
  llvm::SmallVector<mlir::Value> positionsAt(const Fragment &shape, size_t i,
                                             bool isClamped);
  /// The positions along a dim, as a value.
  Fragment indexOf(unsigned d);
  /// Whether columns of the current tile may lie beyond the dim's end.
  bool isRagged(unsigned d) const;
  /// How many columns there are from the thread's first one on (i32); null where all
  /// of the tile exist. Whether one of the thread's is among them.
  mlir::Value columnsLeft(unsigned d);
  mlir::Value isInside(mlir::Value left, size_t column);

  /// A comparison of positions that takes few instructions; none where it is of other
  /// things, too.
  std::optional<Fragment> compare(mlir::arith::CmpIOp cmp);
  void narrow(mlir::arith::CmpIOp cmp,
              llvm::MutableArrayRef<Fragment> operands);

  mlir::Value constant(mlir::TypedAttr attr);
  mlir::Value index(int64_t value) { return constant(b.getIndexAttr(value)); }

  /// The block where constants go: that of the function's entry.
  mlir::Block *entry = nullptr;
  mlir::Value lane;
  FragmentLayout layout;
  /// All columns of the streamed dim exist in this tile.
  bool isWholeTile = false;
  /// Whole extents; where the tile of each dim starts (rows: the thread's first
  /// one); where columns end, if not at the extent.
  llvm::SmallVector<mlir::Value> extents, offsets, ends;

private:
  int64_t stepOf(size_t column) const;
  double boundOf(mlir::Value v) const;

  mlir::OpBuilder &b;
  mlir::Location loc;
  const MatrixPlan &plan;
  const KernelSpace &space;
  Ptx ptx;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_FRAGMENTPLACE_H
