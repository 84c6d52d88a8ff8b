//===- SplitCost.cpp - what blocks that share a tile cost -----------------===//
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/SplitCost.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace redfuse;

/// Cycles of a step where so many blocks run at a time: few of them have more of the
/// memory's rate each, and those of one multiprocessor share what it has.
static double cyclesOfStep(const SharedFold &fold, const MatrixTarget &target,
                           int64_t blocks, int64_t units) {
  double part = double(blocks) / units, together = std::max(1.0, part),
         cycles = 0;
  double rate = std::min(kCacheBytes / together, kMemoryBytes / part) /
                (1 + kLossOfFew * std::max(0.0, 1 - part));
  bool isInTurn = !target.hasWgmma;
  double products = target.productsOfCycle *
                    std::min(isInTurn ? kProductsOfOne : 1, 1 / together);
  double rest = isInTurn ? kNotHidden / together : 0;
  for (double size : fold.sizes) {
    double copied = size * 2 / rate, computed = size * fold.rows / products;
    cycles += std::max(copied, computed) + rest * std::min(copied, computed);
  }
  return std::max(cycles, kStepCycles);
}

Splits redfuse::chooseSplits(const SharedFold &fold, const MatrixTarget &target,
                             int64_t units, int64_t wantedCount,
                             int64_t wantedCluster) {
  Splits best;
  if (!target.hasWgmma)
    wantedCluster = 1;
  double least =
      wantedCount ? std::numeric_limits<double>::infinity()
                  : fold.steps * cyclesOfStep(fold, target, fold.tiles, units);
  // As many as run at a time.
  int64_t last = wantedCount ? fold.steps
                             : std::min(fold.steps,
                                        fold.blocksOfUnit * units / fold.tiles);
  for (int64_t most = 2; most <= last; ++most) {
    if (wantedCount && most != wantedCount)
      continue;
    // As many blocks as that take, none without a step.
    int64_t each = llvm::divideCeil(fold.steps, most),
            count = llvm::divideCeil(fold.steps, each);
    for (int64_t cluster : {1, 2, 4, 8}) {
      if (count % cluster != 0 || (cluster > 1 && !fold.isForClusters))
        continue;
      int64_t clusters = count / cluster;
      // A cluster runs where it has a place for all of its blocks.
      bool isPlaced = cluster == 1 ||
                      (clusters == 1 &&
                       fold.tiles * count <= double(units) * kClusterPlaces);
      if (wantedCluster ? cluster != std::min(wantedCluster, count & -count)
                        : !isPlaced)
        continue;
      double cycles =
          each * cyclesOfStep(fold, target, fold.tiles * count, units);
      if (cluster > 1)
        cycles += kSendCycles + fold.stateBytes / kBytesBetween;
      if (clusters > 1)
        cycles +=
            kMergeCycles + fold.stateBytes / cluster * clusters / kMergeBytes;
      if (cycles < least) {
        least = cycles;
        best = {count, cluster};
      }
    }
  }
  return best;
}

double redfuse::cyclesOfShared(ArrayRef<SharedSum> sums, int64_t tiles,
                               int64_t consumers, int64_t split,
                               int64_t units) {
  double cycles = kStartCycles, own = 64 * consumers, blocks = tiles * split;
  // Rows come from memory; columns, which all blocks read, from the cache.
  double share = kMemoryBytes * std::max(units / blocks, 1.0);
  for (const SharedSum &sum : sums) {
    double steps =
        llvm::divideCeil(llvm::divideCeil(sum.length, kSumTile), split);
    double width = sum.columns;
    cycles +=
        steps * std::max({(own + width) * kSumTile * 2 / kCacheBytes,
                          own * kSumTile * 2 / share, consumers * width * 2});
    if (split > 1)
      cycles += kCyclesBetween +
                own * width * 4 * (split - 1) / split / kBytesBetween;
  }
  cycles *= llvm::divideCeil(tiles * split, units);
  // Two blocks on some multiprocessors, which the others wait for.
  return split == 8 && blocks > units * kClusterPlaces ? 2 * cycles : cycles;
}
