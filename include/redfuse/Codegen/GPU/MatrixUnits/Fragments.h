//===- Fragments.h - values as matrix fragments -----------------*- C++ -*-===//
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
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_FRAGMENTS_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_FRAGMENTS_H

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

/// exp(c * (x - p)) is 2 to the power of x * by + from.
struct ExponentialScale {
  Fragment by, from;
};

/// Emits values of a body for one thread of a multiplying warp.
class FragmentEmitter {
public:
  FragmentEmitter(mlir::OpBuilder &b, mlir::Location loc,
                  const MatrixPlan &plan, const KernelSpace &space)
      : extents(space.numDims), offsets(space.numDims), ends(space.numDims),
        b(b), loc(loc), plan(plan), space(space), ptx(b, loc) {}

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
  /// Which element of `f` goes with element `i` of a fragment of shape `shape`.
  mlir::Value elementFor(const Fragment &f, const Fragment &shape, size_t i);
  /// The left operand of a product (!tile.operand).
  mlir::Value packLeft(const MatrixProduct &product);
  /// The values that a block of scalar ops yields for these arguments.
  llvm::SmallVector<Fragment> evaluate(mlir::Block &block,
                                       llvm::ArrayRef<Fragment> arguments);
  /// Values of such a block, from those that are known.
  llvm::SmallVector<Fragment>
  evaluate(mlir::Block &block, llvm::DenseMap<mlir::Value, Fragment> known,
           mlir::ValueRange wanted);
  /// Reads the elements that a value of that shape has of a tensor.
  Fragment load(mlir::Value memref, mlir::AffineMap map, Fragment shape);
  /// Writes elements that exist.
  void store(mlir::Value memref, mlir::AffineMap map, const Fragment &value);
  /// Two 16-bit floats as one register.
  mlir::Value packPair(mlir::Value low, mlir::Value high);
  /// Completes a reduction that ended in the thread.
  Fragment acrossLanes(ReduceOp op, Fragment partial);
  /// Of an exponential of a distance from `pivot`.
  ExponentialScale scaleOfExponential(mlir::Operation *op,
                                      const Fragment &pivot);
  /// The value of an op for these operands.
  Fragment apply(mlir::Operation *op, llvm::ArrayRef<Fragment> operands);
  /// Whether some value of the warp's rows is above its row's limit, or no number (i1,
  /// the same in a warp).
  mlir::Value isAbove(const Fragment &value, const Fragment &limit);
  /// The same of all values that a maximum is of, if perhaps too often.
  mlir::Value isAnyAbove(ReduceOp max, const Fragment &limit);
  /// Whether columns of the current tile may lie beyond the dim's end.
  bool isRagged(unsigned d) const;

  llvm::DenseMap<mlir::Value, Fragment> values;
  /// What tensors and scalars of the kernel are.
  llvm::DenseMap<mlir::Value, mlir::Value> memrefs;
  mlir::IRMapping captured;
  mlir::Block *entry = nullptr;
  mlir::Value lane;
  FragmentLayout layout;
  /// Reductions to rows that end in the thread: each of the threads of a row has
  /// what it makes of its own columns.
  llvm::DenseSet<mlir::Operation *> inThread;
  /// What exponentials (kPivotAttr) of matrices are made with, where it is known.
  llvm::DenseMap<mlir::Operation *, ExponentialScale> exponentials;
  /// All columns of the streamed dim exist in this tile, and selects are decided.
  bool isWholeTile = false;
  llvm::DenseMap<mlir::Operation *, mlir::Value> decided;
  /// Whole extents; where the tile of each dim starts (rows: the thread's first
  /// one); where columns end, if not at the extent.
  llvm::SmallVector<mlir::Value> extents, offsets, ends;

private:
  Fragment make(mlir::Value v);
  Fragment makeUniform(mlir::Value v);
  size_t storePieces(mlir::Value memref, mlir::AffineMap map,
                     const Fragment &value);
  double boundOf(mlir::Value v) const;
  std::optional<Fragment> comparePositions(mlir::arith::CmpIOp cmp);
  void narrowPositions(mlir::arith::CmpIOp cmp,
                       llvm::MutableArrayRef<Fragment> operands);
  Fragment indexOf(unsigned d);
  /// All results of a reduction become values.
  void reduce(ReduceOp op);
  llvm::SmallVector<Fragment> reducedValues(ReduceOp op, mlir::Value &scale);
  mlir::Value reducedAt(ReduceOp op, unsigned k, const Fragment &operand,
                        const Fragment &shape, size_t i, mlir::Value left);
  using State = llvm::SmallVector<mlir::Value, 2>;
  State reduceRow(ReduceOp op, llvm::ArrayRef<Fragment> operands,
                  const Fragment &shape, size_t row);
  State combine(ReduceOp op, const State &x, const State &y);
  State combineLanes(ReduceOp op, State total);
  /// FragmentTopk.cpp.
  void selectLargest(ReduceOp op);
  friend class LargestSelector;
  mlir::Value shuffle(mlir::Value v, int64_t mask);
  Fragment roundPairs(mlir::Type element, const Fragment &x);
  Fragment exponential(mlir::Operation *op, const Fragment &x);
  /// An exponential that pullPivots marked; `of` gives the values it is made of.
  Fragment exponentialOfPivot(mlir::Operation *op,
                              llvm::function_ref<Fragment(mlir::Value)> of);
  mlir::Value simplify(mlir::Operation *def);
  Fragment divide(mlir::arith::DivFOp div, const Fragment &x,
                  const Fragment &y);
  Fragment divideRows(mlir::arith::DivFOp div, Fragment x, const Fragment &y);
  mlir::Value product(mlir::Value x, mlir::Value y);
  std::pair<mlir::Value, mlir::Value> scaleOf(mlir::Value v);
  mlir::Value emitElement(mlir::Operation *op,
                          llvm::ArrayRef<mlir::Value> operands);
  llvm::SmallVector<mlir::Value> positionsAt(const Fragment &shape, size_t i,
                                             bool isClamped);
  mlir::Value rowAt(size_t half);
  int64_t stepOf(size_t column) const;
  mlir::Value columnAt(unsigned d, size_t column);
  /// How many columns there are from the thread's first one on (i32); null where all
  /// of the tile exist. Whether one of the thread's is among them.
  mlir::Value columnsLeft(unsigned d);
  mlir::Value isInside(mlir::Value left, size_t column);
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

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_FRAGMENTS_H
