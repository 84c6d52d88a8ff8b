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

std::pair<int64_t, double> redfuse::chooseRounds(const SharedFold &fold,
                                                 const MatrixTarget &target,
                                                 int64_t units, int64_t least) {
  std::pair<int64_t, double> best{1, std::numeric_limits<double>::infinity()};
  least = std::min(least, fold.steps);
  for (int64_t most = least; most <= fold.steps; ++most) {
    int64_t each = llvm::divideCeil(fold.steps, most),
            count = llvm::divideCeil(fold.steps, each);
    if (count != most)
      continue;
    int64_t blocks = fold.tiles * count,
            rounds = llvm::divideCeil(blocks, units);
    double step = cyclesOfStep(fold, target, std::min(blocks, units), units);
    double cycles = double(rounds) * (double(each) * step + kStartCycles);
    if (count > 1)
      cycles += kMergeCycles + fold.stateBytes * double(count) / kMergeBytes;
    if (cycles < best.second)
      best = {count, cycles};
  }
  return best;
}

/// cyclesOfShared where all blocks run at once: few of them have more of each rate, and a tile
/// of results that several share is exchanged as slowly as the last of them does it.
static double cyclesAtOnce(ArrayRef<SharedSum> sums, const SharedTiles &shared,
                           int64_t units) {
  double own = 64 * shared.consumers, blocks = shared.tiles * shared.split,
         idle = units / blocks, cycles = kStartCyclesAtOnce;
  double cache = std::min(kCacheBytes * idle, kMostCacheBytes),
         memory = std::min(kMemoryBytesAtOnce * idle, kMostMemoryBytes);
  for (const SharedSum &sum : sums) {
    double steps = llvm::divideCeil(sum.tiles, shared.split);
    double width = sum.columns;
    double copied =
        (own / shared.clusterColumns + width / shared.clusterRows) * kSumBytes;
    cycles +=
        std::max({steps * copied / cache, sum.operandBytes / blocks / memory,
                  steps * shared.consumers * width * kCyclesOfColumn});
    if (shared.split > 1)
      cycles += own * width * 4 * (shared.split - 1) / shared.split /
                kBytesBetweenAtOnce;
  }
  return cycles;
}

double redfuse::cyclesOfShared(ArrayRef<SharedSum> sums,
                               const SharedTiles &shared, int64_t units) {
  double own = 64 * shared.consumers, blocks = shared.tiles * shared.split;
  if (blocks <= units) {
    double cycles = cyclesAtOnce(sums, shared, units);
    // Two blocks on some multiprocessors, which the others wait for.
    bool isPlaced = shared.split < 8 || blocks <= units * kClusterPlaces;
    return isPlaced ? cycles : 2 * cycles;
  }
  // Rows come from memory, if the cache has no room for all; columns, which all blocks read,
  // from the cache. But for those of a batch, which come from memory once, too.
  double cycles = kStartCycles, memory = kStartCycles;
  for (const SharedSum &sum : sums) {
    double steps = sum.tiles, width = sum.columns;
    double copied =
        (own / shared.clusterColumns + width / shared.clusterRows) * kSumBytes;
    double ofRows = sum.rowBytes > double(kSharedCacheBytes)
                        ? own * kSumBytes / kMemoryBytes
                        : 0;
    cycles += steps * std::max({copied / kCacheBytes, ofRows,
                                shared.consumers * width * kCyclesOfColumn});
    memory += sum.operandBytes / double(units) / kMemoryBytesAtOnce;
  }
  auto rounds = double(llvm::divideCeil(int64_t(blocks), units));
  return std::max(cycles * rounds, memory + (rounds - 1) * kStartCycles);
}
