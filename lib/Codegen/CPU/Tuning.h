//===- Tuning.h - tuned numbers of kernels for the CPU ----------*- C++ -*-===//
//
// Each with its unit and its meaning; estimated from the hardware's registers and
// latencies, and held by docs/benchmarks/results-cpu.md.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_CPU_TUNING_H
#define REDFUSE_LIB_CODEGEN_CPU_TUNING_H

#include <cstdint>

namespace redfuse {

/// Independent accumulators of one reduction: hides the latency of its combiner,
/// and shortens the chain of roundings.
inline constexpr unsigned kCopies = 4;

/// Addends of one accumulator before it is added to another one, which keeps the
/// error of a sum near that of its last additions: at 512 a sum of 2^24 numbers in [0,
/// 1) is as near as PyTorch's (test/e2e/test_long_sums.py), and the addition is a
/// five-hundredth of the loop.
inline constexpr int64_t kAddends = 512;

/// Rows whose elements a core folds together: it waits for the memory of several at a
/// time. Where vectors are parts of rows, and where columns are folded. Measured: products
/// of 4096 x 8192 f32 with a vector by one core at 11 GB/s row by row, 18 with four and
/// with eight; sums of columns at 22 and 24 GB/s.
inline constexpr unsigned kRowsTogether = 4, kRowsOfColumns = 8;
/// Columns whose partial sums are held on the stack.
inline constexpr int64_t kPartialColumns = 8192;

/// Elements that lanes are apart up to which they are picked from whole vectors. Estimated.
inline constexpr int64_t kMostStride = 4;

/// Elements of f32 in a vector from which on a machine has 32 vector registers (512
/// bits), not 16.
inline constexpr unsigned kWideLanes = 16;
/// A contraction's tile of accumulators: how many vector registers it takes, and how
/// many rows share them; the rest is for operands. Without rows, registers of the one
/// row there is.
struct AccumulatorTile {
  unsigned registers, rows;
};
inline constexpr AccumulatorTile kWideTile = {24, 8}, kNarrowTile = {12, 4};
inline constexpr unsigned kRegistersOfOneRow = 8;
/// Tiles of columns up to which the tile is narrowed to divide them evenly.
inline constexpr int64_t kEvenTiles = 4;

//===----------------------------------------------------------------------===//
// Selections (SelectionsToCPU.cpp). All are estimated
//===----------------------------------------------------------------------===//

/// Words that are sorted by insertion, at most.
inline constexpr int64_t kInsertedWords = 24;
/// Words of scratch for each rank, and at least: the less often it is full, the more of
/// the row is only compared with the last rank.
inline constexpr int64_t kScratchOfRank = 4, kLeastScratch = 512;

//===----------------------------------------------------------------------===//
// Products of packed operands (PackedPlan.cpp)
//===----------------------------------------------------------------------===//

/// Rows, and registers of columns, whose sums a microkernel has in registers.
struct SumsTile {
  int64_t rows, vectors;
};
/// With 32 registers, and with 16: the rest is for operands. Rows are such that panels of
/// them are whole parts of a vector, or whole vectors.
inline constexpr SumsTile kWideMicrokernels[] = {
    {8, 3}, {4, 6}, {2, 8}, {1, 8}};
inline constexpr SumsTile kNarrowMicrokernels[] = {
    {4, 3}, {8, 1}, {2, 4}, {1, 8}};
/// Rows, columns and sums of a block that are tried.
inline constexpr int64_t kPackedRows[] = {1,  8,   16,  24,  32,  48,  64,
                                          96, 128, 192, 256, 384, 512, 1024},
                         kPackedColumns[] = {16,  32,  48,   64,  96,  128,
                                             192, 240, 288,  336, 384, 480,
                                             512, 768, 1024, 2048},
                         kPackedDepths[] = {96, 128, 192, 256, 384};
/// Rows of microkernels that read both operands where they lie, at most, and vectors or
/// columns beside them; other registers are those of one row's operands, and of a factor.
inline constexpr int64_t kDirectRows = 14, kDirectVectors = 8;
/// Pages of memory that a core has at hand: so many sums are made at a time of columns that
/// lie where they are, each of which has a page of its own. Measured, eight rows of 4096 x
/// 4096 f32 by 32, 64, 128 and 256 sums: 2.6, 3.0, 3.7 and 10.3 ms.
inline constexpr int64_t kPagesAtHand = 32, kPageBytes = 4096,
                         kMostDirectDepth = 256;
/// Sums at a time where vectors lie along the sum.
inline constexpr int64_t kInnerDepths[] = {256, 512, 1024, 2048, 4096};
/// Cycles of such a vector, which a block reads once. Measured: products by 512 x 1024 and
/// 2048 x 2048 f32, of which 16 and 32 rows take less time so, 64 about as much as packed.
inline constexpr double kDirectVectorCycles = 1;
/// Cycles of adding up the lanes of a sum. Estimated.
inline constexpr double kLanesCycles = 3;
/// Products from which on operands are read where they lie by microkernels.
inline constexpr double kLeastDirectProducts = 1 << 12;
/// What an extent is taken for that is not known.
inline constexpr int64_t kOpenExtent = 512;
/// Vectors of products that a core starts in a cycle; cycles until a sum is there for
/// the next product.
inline constexpr double kProductsOfCycle = 2, kProductLatency = 4;
/// Cycles of a load; the share of the L1 cache that the panels of a microkernel may fill,
/// and cycles of a vector that is then missing. Measured: products of 1008 x 960 x 1024 by
/// microkernels of 2 to 24 rows, 96 to 512 sums at a time, on cores with 512-bit vectors.
inline constexpr double kLoadCycles = 0.08, kPanelsOfL1 = 0.85,
                        kMissCycles = 0.5;
/// Cycles to start and end a microkernel, and for each vector that it adds; of a block.
/// To pack a vector of neighbours, an element of a square that is transposed, an element
/// alone; to store a vector of the result. Estimated.
inline constexpr double kMicrokernelCycles = 40, kAddedCycles = 3,
                        kPackedBlockCycles = 1000, kPackedVectorCycles = 5,
                        kTransposedCycles = 0.7, kPackedElementCycles = 2,
                        kStoredVectorCycles = 6;
/// What of a block cores wait for each other at the end. Estimated.
inline constexpr double kWaitedBlocks = 0.04;
/// What of a core's L2 cache packed operands and sums may fill.
inline constexpr double kPackedShareOfL2 = 0.75;

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_CPU_TUNING_H
