//===- MaskedReductions.h - what positions leave out ------------*- C++ -*-===//
#ifndef REDFUSE_ANALYSIS_MASKEDREDUCTIONS_H
#define REDFUSE_ANALYSIS_MASKEDREDUCTIONS_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace redfuse {

/// Whether every reduction along `dim` in a body gets its identity where `select`
/// takes its constant, which is minus infinity: it stays that when scaled or shifted,
/// and its exponential is 0, which makes every product 0.
bool isIdentityWithout(mlir::Block &body, unsigned dim,
                       mlir::arith::SelectOp select);

/// The elements of two iteration dims that count: those with
/// low <= column - row <= high.
struct DiagonalBand {
  int64_t low = std::numeric_limits<int64_t>::min();
  int64_t high = std::numeric_limits<int64_t>::max();

  bool hasLow() const { return low != std::numeric_limits<int64_t>::min(); }
  bool hasHigh() const { return high != std::numeric_limits<int64_t>::max(); }
};

/// What a body leaves out of all its reductions along `column`, by comparing
/// positions along `row` and `column`; none if it leaves out nothing that is known.
std::optional<DiagonalBand> findDiagonalBand(mlir::Block &body, unsigned row,
                                             unsigned column);

/// The selects of a body that leave out elements of all its reductions along `column` by
/// comparing positions along `row` and `column` alone, and where each keeps its element.
llvm::SmallVector<std::pair<mlir::arith::SelectOp, DiagonalBand>>
findDiagonalMasks(mlir::Block &body, unsigned row, unsigned column);

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_MASKEDREDUCTIONS_H
