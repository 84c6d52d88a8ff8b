//===- SplitCost.h - what blocks that share a tile cost ---------*- C++ -*-===//
//
// Few tiles of results would leave multiprocessors idle: several blocks share one,
// the sums of its products (`sum_splits`) or the streamed dim of its fold (`splits`).
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_SPLITCOST_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_SPLITCOST_H

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixTarget.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace redfuse {

/// A fold along a streamed dim, as far as its price depends on it.
struct SharedFold {
  /// Elements of the right operands of a step; rows of a block, and blocks that a
  /// multiprocessor has room for.
  llvm::SmallVector<double> sizes;
  int64_t rows = 64, blocksOfUnit = 1;
  /// Of a tile of results.
  double stateBytes = 0;
  /// Whether blocks of a cluster can send each other the states.
  bool isForClusters = true;
  int64_t steps = 1, tiles = 1;
};
/// How many blocks have a split each, and how many of these are a cluster.
struct Splits {
  int64_t count = 1, cluster = 1;
};
/// The fastest; or those that hints ask for, where they are not 0.
Splits chooseSplits(const SharedFold &fold, const MatrixTarget &target,
                    int64_t units, int64_t wantedCount, int64_t wantedCluster);

/// The splits of a fold that makes its products of tiles of long sums: as many as run at a time,
/// or several rounds of them, and the cycles that they take. At least so many, if there are as
/// many steps.
std::pair<int64_t, double> chooseRounds(const SharedFold &fold,
                                        const MatrixTarget &target,
                                        int64_t units, int64_t least);

/// The tiles of a product's sum, its columns, and the bytes of its operands and of that of
/// its rows.
struct SharedSum {
  int64_t tiles, columns;
  double operandBytes, rowBytes;
};
/// How the tiles of results are cut and shared: so many of 64 rows for each of
/// `consumers`, the sums of one by clusters of `split` (`sum_splits`) blocks; or clusters
/// of several rows and columns of tiles, which copy operands for each other.
struct SharedTiles {
  int64_t tiles, consumers, split, clusterRows = 1, clusterColumns = 1;
};
/// Cycles for all of them.
double cyclesOfShared(llvm::ArrayRef<SharedSum> sums, const SharedTiles &shared,
                      int64_t units);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_SPLITCOST_H
