//===- IndexRanges.h - between which values an index lies -------*- C++ -*-===//
//
// An index is read as an affine expression of positions (of loops and of the
// bodies of linalg ops) and of symbols: extents, and scalars of which no more is
// known. From the bounds of the positions follow its own, in terms of symbols, so
// that `i + 1 < n` is known where i goes up to n - 1, whatever n is.
//
// The machine's numbers have 64 bits and wrap around; expressions do not. Both are
// the same number where the expression's value fits, which is asked for wherever
// something other than sums and products is taken of it.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_ANALYSIS_INDEXRANGES_H
#define REDFUSE_ANALYSIS_INDEXRANGES_H

#include "redfuse/Dialect/Redfuse/Utils/Extents.h"

#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/DynamicAPInt.h"

namespace redfuse {

/// What an index is not below and not above. Each of `lows` and of `highs` is
/// such a bound; there is at least one of both.
struct IndexRange {
  llvm::SmallVector<mlir::AffineExpr, 2> lows, highs;
  /// Whether the first of both is the least and the largest value that occurs,
  /// if anything does.
  bool isExact = false;
  /// The positions that it depends on: ops, and numbers of their positions.
  llvm::SmallVector<std::pair<mlir::Operation *, unsigned>, 2> positions;
};

/// Bounds of `x + y`, of those of `x` and of `y`: each of one with each of the
/// other.
llvm::SmallVector<mlir::AffineExpr, 2>
addBounds(llvm::ArrayRef<mlir::AffineExpr> a,
          llvm::ArrayRef<mlir::AffineExpr> b);

/// The range of a position: of a loop, or of a dim of a linalg op.
struct PositionBounds {
  Extent lower;
  /// Any of them; the position is less than each.
  llvm::SmallVector<Extent, 2> uppers;
  mlir::OpFoldResult step;
};

class IndexRanges {
public:
  /// Numbers that no extent of a tensor exceeds, and none of an array that a
  /// call is given (whose elements have addresses): whoever makes tensors and
  /// takes arrays checks that. Extents of 0 do not hide others.
  static constexpr int64_t kMostElements = int64_t(1) << 62;
  static constexpr int64_t kMostOfArgument = int64_t(1) << 47;

  explicit IndexRanges(mlir::Operation *root) : root(root) {}

  /// The range of `index`. With `around`: in terms of what is known in front of
  /// that op, for all positions in it; nothing if it depends on more.
  std::optional<IndexRange> getRange(mlir::Value index,
                                     mlir::Operation *around = nullptr) {
    return getRange(index, around, 0);
  }

  /// The extent of a tensor's dim, as an expression of the machine's number.
  mlir::AffineExpr getExtent(mlir::Value tensor, int64_t dim);
  /// Traces it, through what loops carry without changing its shape, too.
  static Extent traceExtent(mlir::Value tensor, int64_t dim);

  /// Whether the expression is known not to be negative, to be of 64 bits.
  bool isNonNegative(mlir::AffineExpr expr);
  bool fits(mlir::AffineExpr expr);
  /// Whether one of the range's bounds says it is in [0, extent).
  bool isInside(const IndexRange &range, mlir::AffineExpr extent);
  /// What the expression is not above; nothing if there is no such number.
  std::optional<llvm::DynamicAPInt> getUpperBound(mlir::AffineExpr expr);

  /// Makes the expression at the builder's position.
  mlir::Value materialize(mlir::OpBuilder &b, mlir::Location loc,
                          mlir::AffineExpr expr);
  /// Whether all that the expression is made of is known in front of `around`.
  bool isKnownBefore(mlir::AffineExpr expr, mlir::Operation *around);

  /// The expression for an extent that was traced.
  std::optional<mlir::AffineExpr> getExpr(const Extent &extent,
                                          mlir::Operation *around = nullptr);

  /// The positions that a region of `op` has: of loops, linalg ops,
  /// tensor.generate; nothing for any other op.
  static std::optional<llvm::SmallVector<PositionBounds, 2>>
  getPositions(mlir::Operation *op);

private:
  using Interval = std::pair<llvm::DynamicAPInt, llvm::DynamicAPInt>;

  mlir::AffineExpr getSymbol(const Extent &extent);
  Interval intervalOf(const Extent &extent);
  Interval intervalOf(mlir::Value scalar);
  Interval intervalOf(mlir::AffineExpr expr);
  IndexRange makeConstant(int64_t number);
  IndexRange makeSingle(mlir::AffineExpr expr, bool isExact);
  IndexRange makeOpaque(mlir::Value value);

  std::optional<IndexRange> getRange(mlir::Value index, mlir::Operation *around,
                                     unsigned depth);
  std::optional<IndexRange> compute(mlir::Value index, mlir::Operation *around,
                                    unsigned depth);
  std::optional<IndexRange> ofPosition(mlir::Value index,
                                       mlir::Operation *around, unsigned depth);
  std::optional<IndexRange> ofBounds(const PositionBounds &bounds,
                                     mlir::Operation *around, unsigned depth);
  std::optional<IndexRange> ofResult(mlir::Operation *def, mlir::Value index,
                                     mlir::Operation *around, unsigned depth);
  std::optional<IndexRange> ofExtent(const Extent &extent,
                                     mlir::Operation *around, unsigned depth);
  std::optional<IndexRange> ofExpr(mlir::AffineExpr expr,
                                   llvm::ArrayRef<IndexRange> dims);
  /// The range where its values are the machine's numbers.
  std::optional<IndexRange> asNumber(std::optional<IndexRange> range);

  IndexRange sum(const IndexRange &a, const IndexRange &b);
  IndexRange scaled(const IndexRange &range, int64_t by);
  std::optional<IndexRange> quotient(const IndexRange &range, int64_t by,
                                     bool up);
  IndexRange remainder(const IndexRange &range, int64_t by);
  void addNumber(llvm::SmallVectorImpl<mlir::AffineExpr> &ends,
                 llvm::ArrayRef<mlir::AffineExpr> a,
                 llvm::ArrayRef<mlir::AffineExpr> b, bool isHigh);
  std::optional<IndexRange> extremum(const IndexRange &a, const IndexRange &b,
                                     bool isMax);
  std::optional<IndexRange> either(const IndexRange &a, const IndexRange &b);
  bool isAtMost(mlir::AffineExpr a, mlir::AffineExpr b) {
    return isNonNegative(b - a);
  }

  mlir::Operation *root;
  mlir::DataFlowSolver solver;
  bool isSolved = false;
  llvm::SmallVector<Extent> symbols;
  llvm::SmallVector<Interval> symbolIntervals;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Operation *>,
                 std::optional<IndexRange>>
      known;
};

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_INDEXRANGES_H
