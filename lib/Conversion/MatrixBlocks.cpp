//===- MatrixBlocks.cpp - what blocks that share a tile cost ---------------===//
#include "MatrixPlan.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Bytes a cycle that a multiprocessor reads of the L2 cache where all others do, too,
/// and of memory; cycles to start a block.
static constexpr double kCacheBytes = 44, kMemoryBytes = 17.5,
                        kStartCycles = 3000;

/// The least that a step of a fold takes: one warpgroup waits for a product, computes,
/// and waits for the next.
static constexpr double kStepCycles = 850;
/// The part of the memory's rate that a single block would lack where a few draw all
/// of it.
static constexpr double kLossOfFew = 0.1;

double redfuse::cyclesOfStep(ArrayRef<double> sizes, int64_t consumers,
                             int64_t blocks, int64_t units) {
  double part = double(blocks) / units, cycles = 0;
  double rate = std::min(kCacheBytes, kMemoryBytes / part) /
                (1 + kLossOfFew * std::max(0.0, 1 - part));
  for (double size : sizes)
    cycles += std::max(size * 2 / rate, size * consumers / 32);
  return std::max(cycles, kStepCycles);
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
      cycles += kExchangeCycles +
                own * width * 4 * (split - 1) / split / kExchangeBytes;
  }
  cycles *= llvm::divideCeil(tiles * split, units);
  // Two blocks on some multiprocessors, which the others wait for.
  return split == 8 && blocks > units * kClusterPlaces ? 2 * cycles : cycles;
}
