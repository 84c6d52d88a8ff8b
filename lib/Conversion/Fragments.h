//===- Fragments.h - values as matrix fragments -----------------*- C++ -*-===//
//
// A warp has 16 rows of a matrix. A thread has of each 8 columns four elements:
// rows g and g + 8, columns 2t and 2t + 1, where g = lane / 4 and t = lane % 4.
// This is how matrix units leave a product, and (two neighbours packed) how they
// take a left operand, so that what one product makes can be the operand of the
// next without a shuffle. Values of fewer dims are kept once a thread.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CONVERSION_FRAGMENTS_H
#define REDFUSE_LIB_CONVERSION_FRAGMENTS_H

#include "MatrixPlan.h"

namespace redfuse {

struct Fragment {
  enum class Kind { Uniform, Row, Column, Matrix };
  Kind kind = Kind::Uniform;
  /// Column, Matrix: the dim of the columns.
  unsigned dim = 0;
  /// Uniform: 1. Row: 2. Column: 2 for each 8 columns. Matrix: 4 for each 8.
  llvm::SmallVector<mlir::Value> values;

  /// The element that goes with element `i` of a matrix.
  mlir::Value at(size_t i) const {
    switch (kind) {
    case Kind::Uniform:
      return values[0];
    case Kind::Row:
      return values[i % 4 / 2];
    case Kind::Column:
      return values[i / 4 * 2 + i % 2];
    case Kind::Matrix:
      return values[i];
    }
    llvm_unreachable("unknown kind");
  }
};

/// Emits values of a body for one thread of a multiplying warp.
class FragmentEmitter {
public:
  FragmentEmitter(mlir::OpBuilder &b, mlir::Location loc,
                  const MatrixPlan &plan, const KernelSpace &space)
      : b(b), loc(loc), plan(plan), space(space), ptx(b, loc),
        extents(space.numDims), offsets(space.numDims), ends(space.numDims) {}

  /// Selects the body whose values are emitted.
  void select(IndexProgramOpInterface newOp, const DimSets &dims) {
    op = newOp;
    sets = &dims;
  }

  /// The value in the current body; made at the insertion point unless it is in
  /// `values`.
  const Fragment &get(mlir::Value v);
  /// A constant in the shape that `v` has.
  Fragment fill(mlir::Value v, mlir::TypedAttr value);
  /// Of which kind a value is that depends on `dims`.
  Fragment shapeOf(const SmallBitVector &dims) const;
  size_t sizeOf(const Fragment &shape) const;
  /// The left operand of a product, as registers of two elements.
  llvm::SmallVector<mlir::Value> packLeft(const MatrixProduct &product);
  /// Writes elements that exist.
  void store(mlir::Value memref, mlir::AffineMap map, const Fragment &value);
  /// Whether columns of the current tile may lie beyond the dim's end.
  bool isRagged(unsigned d) const;

  llvm::DenseMap<mlir::Value, Fragment> values;
  /// What tensors and scalars of the kernel are.
  llvm::DenseMap<mlir::Value, mlir::Value> memrefs;
  mlir::IRMapping captured;
  mlir::Block *entry = nullptr;
  mlir::Value lane;
  /// All columns of the streamed dim exist in this tile, and selects are decided.
  bool isWholeTile = false;
  llvm::DenseMap<mlir::Operation *, mlir::Value> decided;
  /// Whole extents; where the tile of each dim starts (rows: the thread's first
  /// one); where columns end, if not at the extent.
  llvm::SmallVector<mlir::Value> extents, offsets, ends;

private:
  Fragment make(mlir::Value v);
  Fragment load(mlir::BlockArgument arg);
  Fragment indexOf(unsigned d);
  Fragment reduce(ReduceOp op);
  Fragment exponential(mlir::Operation *op);
  mlir::Value simplify(mlir::Operation *def);
  Fragment divide(mlir::arith::DivFOp div);
  mlir::Value product(mlir::Value x, mlir::Value y);
  std::pair<mlir::Value, mlir::Value> scaleOf(mlir::Value v);
  mlir::Value emitElement(mlir::Operation *op,
                          llvm::ArrayRef<mlir::Value> operands);
  llvm::SmallVector<mlir::Value> positionsAt(const Fragment &shape, size_t i,
                                             bool isClamped);
  mlir::Value rowAt(size_t half);
  mlir::Value columnAt(unsigned d, size_t column);
  mlir::Value isInside(unsigned d, size_t column);
  mlir::Value constant(mlir::TypedAttr attr);
  mlir::Value index(int64_t value) { return constant(b.getIndexAttr(value)); }
  mlir::Value endOf(unsigned d) { return ends[d] ? ends[d] : extents[d]; }
  Fragment join(const Fragment &x, const Fragment &y) const;

  mlir::OpBuilder &b;
  mlir::Location loc;
  const MatrixPlan &plan;
  const KernelSpace &space;
  Ptx ptx;
  IndexProgramOpInterface op;
  const DimSets *sets = nullptr;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CONVERSION_FRAGMENTS_H
