//===- Tuning.h - tuned numbers of kernels on matrix units ------*- C++ -*-===//
//
// What plans are chosen by, and limits of the code that is made. Each with its unit
// and its meaning. docs/design/gpu-matrix-units.md says what was measured, section by
// section, docs/benchmarks/results-gpu.md ("Attention", "Attention operators",
// "Decoding", "Matrix instructions of warps") what the kernels reach. On an H200, if
// no other GPU is named; what neither page nor comment measures is an estimate.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_TUNING_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_TUNING_H

#include <cstdint>

namespace redfuse {

//===----------------------------------------------------------------------===//
// What fits ("What fits")
//===----------------------------------------------------------------------===//

/// Bytes of a block's shared memory that tiles do not get: barriers, and where tiles are
/// aligned to the period of the swizzle; the same of warps that copy rows. Estimated.
inline constexpr int64_t kBesidesTiles = 3 * 1024, kBesidesRows = 256;
/// Registers of 32 bits of a thread for fragments: 255 are the hardware's limit, the
/// rest is for addresses and temporaries. Estimated.
inline constexpr int64_t kFragmentRegisters = 200;
/// The longest sum whose left operand fits registers.
inline constexpr int64_t kMaxRegisterSum = 128;
/// The narrowest products that blocks share for want of tiles: less of a product would be
/// rows alone.
inline constexpr int64_t kLeastColumns = 64;
/// With fewer rows other kernels read memory as fast; where they fold a stream, they do so
/// with one row alone. Measured on an H100 (test/programs/torch/wide.py): decoding with 4
/// query heads a key head, 8192 and 131072 keys, 30.6 and 267 us by threads, 22.3 and 189 us
/// by matrix units; with 2 queries the same.
inline constexpr int64_t kLeastRows = 5, kLeastStreamedRows = 2;
/// The longest list of a top-k.
inline constexpr int64_t kMaxRanks = 32;
/// Registers of 32 bits that a step takes of a thread besides products: for a matrix
/// that is no factor, which ptxas loads long before it is used, and for positions.
inline constexpr int64_t kMatrixRegisters = 24, kPositionRegisters = 12;
/// Values of states that a thread may have loaded and not merged; where a block has
/// one consumer warpgroup, and so more registers a thread.
inline constexpr int64_t kLoadedValues = 96, kLoadedByFew = 160;

//===----------------------------------------------------------------------===//
// LLVM
//===----------------------------------------------------------------------===//

/// The level at which LLVM may optimise kernels on matrix units: from the next one on,
/// global value numbering and unrolling take from ptxas the proof that descriptors are
/// uniform.
inline constexpr int64_t kMatrixOptLevel = 1;

//===----------------------------------------------------------------------===//
// Which dims are rows (MatrixDims.cpp)
//===----------------------------------------------------------------------===//

/// What rows cost whose elements are in lines of their own: as much as half of each tile
/// being empty. Estimated; 128 x 64 x 256 x 256 results of 32 channels that are computed took
/// 13 ms on an H100, where eager PyTorch takes 3.
inline constexpr double kScatteredRows = 4;
/// Multiply-adds that take as long as storing one 16-bit result: 330e12 a second, and 3e12
/// bytes. Of shorter sums memory limits what waits for them.
inline constexpr double kSumOfStore = 220;
/// What an extent is taken for that is not known: long. Estimated.
inline constexpr int64_t kOpenRows = 1 << 20;

//===----------------------------------------------------------------------===//
// Warpgroups and tiles ("Roles, tiles and steps")
//===----------------------------------------------------------------------===//

/// 32-bit registers a thread may have for fragments where three warpgroups
/// multiply: it has 160 in all.
inline constexpr int64_t kRegistersOfThree = 128;
/// How much faster three warpgroups are than two, with shorter tiles of columns,
/// where the rows are whole tiles of either; and how long the streamed dim has to be
/// where predicates cut tiles.
inline constexpr double kGainOfThree = 1.08;
inline constexpr int64_t kLongStream = 8192;
/// Columns of a plain product for which three warpgroups have registers, and the length of
/// sums beside which an epilogue's spills count little; the time of tiles of other sizes beside
/// that of 128 rows, from which on they are taken. Estimated. And the length where sums are
/// stored as they are: 368640 x 320 x 256 took 138 us on an H200 in tiles of 192 x 160, 157 in
/// 128 x 160, 172 in 128 x 256.
inline constexpr int64_t kColumnsOfThree = 192, kSumOfThree = 512,
                         kPlainSumOfThree = 256;
inline constexpr double kWorthOtherTiles = 0.95;
/// Tiles for each multiprocessor from which on those of up to 64 rows are as wide as can be:
/// pointwise convolutions of 16 to 56 channels were 1.05 to 1.6 times as fast on an H100 as
/// with two warpgroups.
inline constexpr int64_t kManyTiles = 4;
/// Blocks that copy for each other: bytes a cycle that a multiprocessor gets of the L2 cache
/// for tiles, beside products from which ratio on that rate limits a round; tiles of a sum
/// from which on it pays; clusters of four that find no place beside the others. Measured on
/// an H100, with the 14 us of the copy before it: 1272 x 1792 x 5306 in tiles of 128 x 160
/// 78 us, 64 in pairs of rows, 52 in clusters of 2 x 2; several rounds of 128 x 256 1.00 to 1.02 times as fast in pairs, one
/// round 0.9 to 1.0.
inline constexpr double kTileCacheBytes = 32, kCacheBound = 1.6;
inline constexpr int64_t kLongTiledSum = 32, kClustersWithoutPlace = 3;
/// Bytes of the rows' operands that blocks which run at a time have between them, where a fold
/// makes its products of long sums. Estimated: a third of the L2 cache, which has columns, too.
inline constexpr int64_t kTiledFoldBytes = 16 << 20;
/// Columns of a step where rows are few: memory takes the time, and the first and
/// the last tile should be short.
inline constexpr int64_t kFewRowsColumns = 64;
/// Registers of a thread: as compiled, and what `setmaxnreg` leaves the producer and
/// gives the consumers, so that all together are at most those of a multiprocessor.
struct RegisterBudget {
  int64_t whole, producer, consumer;
};
/// By the number of consumer warpgroups. One has enough as it is.
inline constexpr RegisterBudget kBudgets[] = {
    {0, 0, 0}, {168, 40, 232}, {128, 32, 160}};
/// Of one consumer warpgroup, where two blocks are on a multiprocessor.
inline constexpr RegisterBudget kHalfBudget = {128, 40, 216};
/// The widest states and tiles for which a block has enough with half of a
/// multiprocessor's registers and shared memory.
inline constexpr int64_t kHalfColumns = 128;
/// Tiles of a sum for which a warpgroup waits less than for what is behind it, at most.
/// Estimated.
inline constexpr int64_t kShortSumTiles = 2;
/// Columns of a step where warps multiply by themselves: with fewer, what a warp reads
/// of the right operand serves too few products ("Warps that copy and multiply").
inline constexpr int64_t kGoodColumns = 64, kFewColumns = 32;
/// Stages of a ring at most. With mma.sync, more than four wait
/// for nothing.
inline constexpr int64_t kMaxStages = 8, kMaxStagesOfMmaSync = 4;
/// Streamed dims from which on results are staged in shared memory; and rows of a result
/// that a warp stores in an iteration, whose loads are all under way before the first store.
inline constexpr int64_t kLongStaged = 512, kRowsOfStore = 4;

//===----------------------------------------------------------------------===//
// Lazy pivots ("Lazy pivots")
//===----------------------------------------------------------------------===//

/// Streamed dims from which on pivots are lazy.
inline constexpr int64_t kLazyLength = 512;
/// Elements of products in a thread beside which there is room for predicates and for
/// pivots that lag.
inline constexpr int64_t kLazyElements = 160;
/// How many times the mean of its row a weight may be while the pivot stays; and in
/// rows of `kLongRowOfPivot` elements and more.
inline constexpr float kTimesMean = 48, kTimesMeanOfLong = 20;
inline constexpr int64_t kLongRowOfPivot = 4096;

//===----------------------------------------------------------------------===//
// The order of tiles ("The order of tiles")
//===----------------------------------------------------------------------===//

/// Bytes that the tiles of a band stream: they should stay in the L2, which also
/// has to take what is written. Where predicates make tiles unequal, larger bands
/// even them out, and a part of the band is in work at a time. Of short streams many are
/// in work at once: measured on an H100, 512 keys and fewer are 1.04 to 1.20 times as
/// fast as in the longer bands, 1500 and more the same.
inline constexpr int64_t kSharedCacheBytes = 32 << 20,
                         kUnequalBytes = 128 << 20, kShortBytes = 16 << 20,
                         kShortStream = 1024;
/// So many blocks at least stream the same data at a time.
inline constexpr int64_t kSharers = 4;
/// The share of the rows, the first ones, whose tiles are the last of all where tiles
/// are unequal: one in so many.
inline constexpr int64_t kLateRows = 4;
/// Tiles of rows that are tried when a kernel is compiled, at most.
inline constexpr int64_t kMostTried = 4;
/// Steps of sums that blocks share which are asked for while the launch before ends.
inline constexpr int64_t kTilesAhead = 4;

/// Operations of an epilogue from which on it is computed columns by columns, and those that
/// a logarithm or the like counts as (an exponential is one instruction). Measured on an H200:
/// a gate of 6 takes 0.98 of the time otherwise; a polynomial and tanh spilled, and so did the
/// logarithm of a softplus.
inline constexpr int64_t kLongEpilogue = 9, kOperationsOfFunction = 6;

/// Cycles of a warpgroup for a column of its product with a tile of the sum, beside other
/// warpgroups. Those of 8 bits are told by whether the cache limits a round (1000 x 4000 x 4112
/// in tiles of 128 x 256 took 39.7 us on an H200, 28.5 in clusters of two); of small tiles,
/// which are priced as those of 16 bits, others take the time.
inline constexpr double kCyclesOfColumn = 2, kCyclesOfByteColumn = 1.2;

//===----------------------------------------------------------------------===//
// Blocks that share a fold or a sum ("Few tiles: shared sums", "Few tiles: splits")
//===----------------------------------------------------------------------===//

/// Bytes a cycle that a multiprocessor reads of the L2 cache where all others do, too,
/// and of memory; cycles to start a block.
inline constexpr double kCacheBytes = 44, kMemoryBytes = 17.5,
                        kStartCycles = 3000;
/// Cycles that a step of a fold takes at least: one warpgroup waits for a product,
/// computes, and waits for the next.
inline constexpr double kStepCycles = 850;
/// The part of the memory's rate that a single block would lack where a few draw all
/// of it.
inline constexpr double kLossOfFew = 0.1;
/// A cycle's bytes of another block's shared memory.
inline constexpr double kBytesBetween = 11;
/// Sums of products whose blocks all run at once: cycles to start, bytes a cycle that a
/// multiprocessor reads at most where others are idle (of the L2 cache, of memory), and of
/// memory where none is; bytes that one of a cluster gets of the others. Fitted to 23
/// products of 8 to 512 rows with four splits and two heights of tiles each, on an H200
/// with a cold cache: what it chooses takes 1.01 of the best, at worst 1.17.
inline constexpr double kStartCyclesAtOnce = 1700, kMostCacheBytes = 50,
                        kMostMemoryBytes = 29.5, kMemoryBytesAtOnce = 15.5,
                        kBytesBetweenAtOnce = 3.5;
/// Bytes a cycle, and cycles, to merge what went through global memory, or to send it.
inline constexpr double kMergeBytes = 14, kMergeCycles = 3500,
                        kSendCycles = 900;
/// Bytes of received states that have memory of their own beside the ring; more take
/// the ring's, after all blocks are done with theirs.
inline constexpr int64_t kMostBesideRing = 32 << 10;
/// The part of all multiprocessors on which clusters of eight find a place, one block
/// on each.
inline constexpr double kClusterPlaces = 0.75;
/// Where the warps of a block do everything in turn: the part of a multiprocessor's
/// products that one block does in a cycle, and the part of the shorter one of copies
/// and products that is not hidden behind the longer one.
inline constexpr double kProductsOfOne = 0.68, kNotHidden = 0.5;

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_TUNING_H
