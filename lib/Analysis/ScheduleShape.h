//===- ScheduleShape.h - what a schedule depends on -------------*- C++ -*-===//
//
// What of a cascade tells how it can be walked: its dims, what is reduced, what lies
// together in memory.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_ANALYSIS_SCHEDULESHAPE_H
#define REDFUSE_LIB_ANALYSIS_SCHEDULESHAPE_H

#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

namespace redfuse {

/// Points of a reduction up to which every block may make it for itself. Estimated.
inline constexpr double kReducedByAll = 4096;

/// What the choice needs to know of a cascade.
struct ScheduleShape {
  llvm::SmallVector<double> extents;
  DimSets sets;
  llvm::SmallVector<ReduceOp> reduces;
  /// The dims that each reduction or scan could be folded along.
  llvm::SmallVector<llvm::SmallVector<int64_t>> folds;
  /// Dims whose tiles are independent: in every result and kept by every
  /// reduction but those that are made again; in the order of the first result's shape.
  llvm::SmallVector<int64_t> parallel;
  llvm::SmallBitVector reduced;
  /// Those, if they are the taps of windows that threads of a GPU have to themselves.
  llvm::SmallBitVector taps;
  /// Dims of reductions that every block makes for itself alone, and the points of these.
  llvm::SmallBitVector again;
  double repeated = 0;
  /// Of the inputs.
  llvm::SmallVector<mlir::AffineMap> maps = {};
  /// Elements, and ranks of a top-k that each of them is compared with; 0 without one.
  double points = 0, ranks = 0;
  /// The dim along which most of the data is contiguous.
  std::optional<unsigned> contiguous;
  /// Elements of all operands that are contiguous along it, and points of the largest reduction.
  double inLines = 0, reducedPoints = 0;
  /// Whether its rows begin in the middle of sectors, which neighbouring tiles share.
  bool sharesSectors = false;
  /// A sum of products of operands with dims of their own: a matrix product.
  bool hasContraction = false;
  /// Rows of a reduction for which every input has either rows or columns: what is read
  /// for the one is used for all of a tile of the other.
  std::optional<unsigned> shared = std::nullopt;
  /// Some result has a dim that is reduced: whole rows are written.
  bool writesRows = false;
  /// Two dims of no reduction, where some tensor that has both is contiguous along
  /// the one and some along the other, and neighbours along each that are a line of
  /// memory.
  struct Crossed {
    unsigned dim;
    int64_t line;
  };
  llvm::SmallVector<Crossed, 2> crossed;
  /// Whether some of their tensors have rows that do not begin at multiples of 16 bytes,
  /// which are accessed element by element.
  bool areCrossedRagged = false;
};

/// The points along these dims.
double product(const ScheduleShape &shape, const llvm::SmallBitVector &set);

/// How many neighbours in memory lie along the last dim of an input and, before it, along dims
/// that are summed: a row. 0: nobody knows.
int64_t findRow(mlir::RankedTensorType type, mlir::AffineMap map,
                ReduceOp reduce);

/// Fails where the body is ill-formed.
llvm::FailureOr<ScheduleShape> analyseShape(CascadeOp cascade, bool isGpu);

} // namespace redfuse

#endif // REDFUSE_LIB_ANALYSIS_SCHEDULESHAPE_H
