//===- CostConstants.h - numbers of the cost model --------------*- C++ -*-===//
//
// What lib/Analysis and lib/Transforms choose by (fusion, schedules, what is cut, copied
// or selected), beside what `redfuse.target` says of the machine. Each with its unit, its
// meaning, and where it comes from: "measured" names the page or program that
// measured it, "estimated" was set by reasoning and has held in the benchmarks.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_ANALYSIS_COSTCONSTANTS_H
#define REDFUSE_ANALYSIS_COSTCONSTANTS_H

#include <cstddef>
#include <cstdint>

namespace redfuse {

/// Elements that a dynamic extent counts as. Estimated.
inline constexpr int64_t kDynamicExtent = 1024;

//===----------------------------------------------------------------------===//
// Work: additions
//===----------------------------------------------------------------------===//

/// Of an op on one element: exponentials and the like; divisions, square roots and a
/// step of a top-k; reads at a position from data; what takes two instructions.
/// Estimated from the throughput of vector units.
inline constexpr double kFunctionCost = 16, kDivisionCost = 8, kExtractCost = 2,
                        kPairCost = 2;
/// Points of a kernel for each point of a scan from which on its prefixes are made by a kernel
/// of their own. With one kernel, decays of 4096 x 4096 pairs of 32 sequences by prefixes of
/// 4096 took 1.2 ms on an H200, beside 0.5 that they take in memory. Estimated.
inline constexpr double kPointsOfPrefix = 16;
/// Work of a map up to which it is computed again rather than read. Estimated.
inline constexpr double kCheapMapCost = 8;
/// Elements of a reduction up to which it may be made again for another reader, where it has
/// twice that work at most: distances of points, of three coordinates.
inline constexpr double kFewRepeated = 4;
/// How much faster matrix units of a GPU multiply than other units do in f32: 16
/// times on an A100 by its data sheet, of which rows that stay empty take a part.
inline constexpr double kMatrixGain = 4;
/// How much slower than their other work the threads of a GPU do a sum of products that
/// no matrix instruction makes because it is in one kernel with other reductions. Estimated:
/// products by threads alone have 0.015 to 0.3 of the rate of f32 on an H200.
inline constexpr double kScalarProducts = 10;
/// Sums, and products, from which on cores pack a product's operands
/// (lib/Codegen/CPU/PackedPlan.h).
inline constexpr double kLeastPackedSums = 24, kLeastPackedProducts = 1 << 20;
/// How much slower a core does a sum of products that is in one kernel with others, whose
/// operands are not packed. Measured: layers of BERT as one kernel each at 66 GFLOP/s of a
/// core, their products alone at 145.
inline constexpr double kUnpackedProducts = 2.2;
/// Rows, and columns, of such a product from which on that is so; below some it is slower
/// by as much as they are fewer. Measured: gelu(x w) u of 1024 and 4096 columns as one
/// kernel takes what its multiply-adds take at a core's rate 16 times with 2 rows, 13 times
/// with 4, 5 with 8, 6 with 16; cut, 12 of 15 cases of 8 to 24 rows were faster, by up to 2.8
/// times, and 3 slower, by up to 1.7, on a busy machine.
inline constexpr double kLeastSideOfCores = 2, kFewOfSide = 24;
/// Bytes of the largest tensor inside of a chain for each multiply-add of its products, from which
/// on a kernel of all is as fast all the same, as that tensor is in no memory. Measured with cases
/// of test/programs/cpu_operations.py: attention with heads of 64 (0.03) and log-sum-exp behind a
/// product of 256 sums (0.016) are 1.3 to 1.9 times as fast as one, layers of 256 (0.008)
/// and softmax behind 512 sums (0.008) 1.2 to 1.4 times in parts.
inline constexpr double kInsideOfChain = 0.012;
/// How much slower a convolution is whose windows are computed for each tap, rather than
/// copied. Estimated: a block of a DenseNet, which normalises what it convolves, has 0.6
/// of cuDNN on an H100, its neighbours 1 to 2.
inline constexpr double kComputedWindows = 3;
/// The same of plain products of which one factor is computed, for each tile of the other's
/// rows again: of a gate of 2042 x 5760 by 2304 columns (bf16) 537 us on an H200, of rows that are
/// concatenated of 63 and 256 elements, 192000 of them, by 256 columns (f16) 2174, where products
/// of matrices in memory take 80 and 90.
inline constexpr double kComputedFactors = 3;
/// Elements of a factor up to which this is not so: it is copied first, if that pays.
inline constexpr double kSmallFactor = 1 << 20;
/// Work of a read of an element that was read at another place before, from a cache of a GPU's
/// multiprocessor, which has 32 elements a cycle where f32 has 256 operations.
inline constexpr double kReadAgain = 8;
/// What finding such a place adds where an index wraps around (a modulus), for each. Two steps of a
/// heat equation in one kernel, which reads 45 places of 8.6 million points, took 340 us on an
/// H200: 58 operations a read, of which most has one or two such indices.
inline constexpr double kWrappedIndex = 30;
/// So many rows or fewer are few beside packed weights: of the instruction these are its columns.
inline constexpr double kFewOthers = 64;
/// How much slower than other additions are those of windows that another reduction of the
/// same kernel folds again. Measured on an H100: two programs of KernelBench that sum up
/// what they pool, 1500 and 40000 additions' time an element.
inline constexpr double kFoldedWindows = 1000;
/// Rows and columns from above which a sum of products counts as one of matrices.
/// Estimated.
inline constexpr double kVectorExtent = 4;

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

/// Elements of a tile along a dim that some reduction lacks, and the share of the
/// work that its repetition for every tile may take. Estimated.
inline constexpr double kCutTile = 128, kAffordableRepeats = 0.1;
/// How much more than its share of the bandwidth a unit draws where others are idle.
/// Estimated.
inline constexpr double kBandwidthOfOne = 1.5;
/// Times that one kernel may take of what two take, for a fusion: what the model
/// cannot tell apart is fused, as there are no intermediates then. Estimated.
inline constexpr double kFusionDoubt = 1.05;
/// Bytes of a tensor between two kernels from above which one is better whatever the time:
/// memory may have no room for it and its neighbours. A fifth of what an H100 has.
inline constexpr double kMostBytesBetween = 1.6e10;
/// Launches that a kernel takes at least, by its price, for it to be tried how later passes
/// would plan it: what is shorter may run as it likes. Estimated.
inline constexpr double kLeastTrial = 1.05;
/// How often a fused kernel may compute all of its work again, at all and beside
/// what its parts already did. Estimated.
inline constexpr double kMostRecompute = 1.1, kMostMoreRecompute = 1.01;
/// Reductions, operations and tensors read at which a kernel ends, whatever the model says
/// of its time: what is compiled as one takes longer than its parts do, and a launch
/// between so many costs nothing. `tools/dev growth` measures how compile time grows
/// (docs/benchmarks/compile-time.md). Of tensors: registers hold the elements of all that
/// one expression reads, and a thread of a GPU has at most 255.
inline constexpr unsigned kMostReductions = 24, kMostOperations = 256,
                          kMostInputs = 64;

/// Readers of a tensor that do not fit into a group, after which no more are tried for it;
/// one that was tried how it would run counts as so many, as that takes longer. Estimated:
/// what hundreds read (a table of angles) has readers that never fit.
inline constexpr unsigned kMostMisses = 32, kMissesOfTrial = 16;
/// Ops that are looked at, and cascades that are told, in saying what stands between two
/// cascades. Estimated.
inline constexpr unsigned kMostVisited = 64, kMostReported = 4;
/// Places at which ops are needed before those that are one have been found: as many
/// comparisons are its square. Estimated.
inline constexpr size_t kMostInstances = 640;

//===----------------------------------------------------------------------===//
// Programs: what is rewritten before it is fused (redfuse-normalize)
//===----------------------------------------------------------------------===//

/// Elements that stand beside a long tensor in a concatenation, for it to be split: each is
/// an operation of its own. Estimated.
inline constexpr int64_t kMostElementsBeside = 8;
/// Exponents, without their signs, whose powers are multiplications: with larger ones a
/// call is as good, and multiplications lose accuracy. Estimated.
inline constexpr int64_t kLargestExponent = 16;
/// Parts of a concatenation that becomes one op: every element reads from all of them.
/// Estimated.
inline constexpr unsigned kMostParts = 8;
/// Updates of a scatter from which on they are sorted by their places, rather than one made
/// after another; those of a chunk, which a thread combines; and of these those for which
/// it waits together. Estimated.
inline constexpr int64_t kLeastGroupedUpdates = 256, kUpdateChunk = 64,
                         kUpdatesReadAhead = 8;
/// Updates of a scatter up to which one after another is made, by one launch; and up to which
/// each is compared with those behind it, to find the last of a place; and those of a place
/// on an average, above which atomics wait for one another for longer than a sort takes.
/// Estimated.
inline constexpr int64_t kUpdatesInTurn = 8, kComparedUpdates = 256,
                         kMostUpdatesOfPlace = 64;

/// Bytes of memory's time that an element takes which is read or written across the rows
/// that threads walk (redfuse-align-rows). Measured on an H200: a gate and a result of 4x2048x1536
/// elements of 16 bits across the rows of a selective scan took 0.44 ms.
inline constexpr double kBytesAcross = 56;

/// Elements of a constant up to which the compiler makes its copies (redfuse-fold-copies).
/// Estimated: it takes some 10 ns for each.
inline constexpr int64_t kMostFoldedElements = int64_t(1) << 26;

//===----------------------------------------------------------------------===//
// Maps that are cut in two (redfuse-split-maps), on GPUs
//===----------------------------------------------------------------------===//

/// Bytes of an access of a thread; and how much longer maps take whose accesses are of
/// single elements. Measured on an H200: 910e6 bf16 in 1.22 ms, by vectors in 0.88. Less is
/// assumed, as other types have fewer elements.
inline constexpr double kVectorBytes = 16, kLossOfElements = 0.25;

//===----------------------------------------------------------------------===//
// Dims that are taken as one (redfuse-collapse-dims)
//===----------------------------------------------------------------------===//

/// Dims of a reduction from which on neighbours are taken as one. Estimated.
inline constexpr unsigned kManyDims = 6;

/// Dims that a box has at most which an engine copies (CUDA's tensor maps).
inline constexpr int64_t kMostBoxDims = 5;
/// The use of threads along short rows, beside that along what they are part of, from which
/// on they stay as they are. Estimated.
inline constexpr double kLeastBetter = 0.7;
/// Rows of a tile of products, and what rows fill of such tiles, from which on they stay as
/// they are. Estimated.
inline constexpr int64_t kTileRows = 128;
inline constexpr double kLeastFilled = 0.9;

//===----------------------------------------------------------------------===//
// Ranges of indices (IndexRanges.cpp)
//===----------------------------------------------------------------------===//

/// Definitions that are followed from a value, and bounds of it that are kept. Estimated.
inline constexpr unsigned kMostSteps = 24, kMostBounds = 4;

//===----------------------------------------------------------------------===//
// Checks of windows (redfuse-check-accesses)
//===----------------------------------------------------------------------===//

/// Points at which an index is tried for its ends: by the compiler (a second or less), and
/// by the program, in every call; and bounds of an index that are kept, as more would only
/// grow with it. Estimated.
inline constexpr int64_t kMostTriedPoints = int64_t(1) << 22,
                         kMostPointsInCalls = int64_t(1) << 14;
inline constexpr unsigned kMostBoundsOfWindow = 4;

//===----------------------------------------------------------------------===//
// Loops that write into one tensor after another (redfuse-cut-carried)
//===----------------------------------------------------------------------===//

/// Steps of upstream's analysis of buffers that a loop or branch adds to a chain, which has
/// uses within it, and an op that writes into a tensor. Estimated.
inline constexpr int64_t kStepsOfRegions = 4, kStepsOfWrites = 1;

//===----------------------------------------------------------------------===//
// Schedules: tiles
//===----------------------------------------------------------------------===//

/// Vectors along the innermost dims of a contraction's tile, or of neighbours in
/// memory; and rows that a tile keeps when it is halved for more blocks. Register
/// tiles of the CPU are made of these (lib/Codegen/CPU/Tuning.h).
inline constexpr int64_t kTileVectors = 4, kLeastTileRows = 8;
/// Points of a block: enough to hide the cost of starting it. On a CPU estimated; on
/// a GPU, where threads take a few points each, measured by test/hardware/rows.py. Rows of `kLongRow` points and more that
/// are written too have fewer: blocks that end make room for others' loads.
inline constexpr double kBlockPoints = 16384, kGpuBlockPoints = 4096,
                        kGpuWritingBlockPoints = 2048, kLongRow = 512;
/// Inputs of a map up to which it has as many points: registers hold none of more, with the
/// elements that threads have of few. Estimated.
inline constexpr double kFewMapInputs = 6;
/// Elements of windows that a thread of a GPU holds at a time, of how many results at
/// most, elements up to which it holds one window, and threads that take the results of
/// a block. Estimated.
inline constexpr int64_t kTapElements = 96, kTapResults = 8, kMostTaps = 128,
                         kTapThreads = 256;
/// Channels that such a window has at most, which are summed as its taps are. Estimated.
inline constexpr double kMostChannels = 8;
/// Elements of a GPU's tile along neighbours in memory: two lines of 128 bytes in f32. Estimated.
inline constexpr int64_t kGpuLine = 64;
/// The same where rows begin in the middle of sectors, which tiles beside share. Estimated.
inline constexpr int64_t kGpuUnalignedLine = 128;
/// Points of a reduction for each element that is read or written along such lines, from which on
/// these do not matter. Estimated.
inline constexpr double kFewOfPoints = 64;
/// Bytes that a GPU's memory moves at least, and that its caches look up at a time; and
/// lines of a tile along the second of two dims, where tensors are contiguous along
/// different ones. Estimated.
inline constexpr int64_t kGpuSectorBytes = 32, kGpuLineBytes = 128,
                         kCrossedLines = 4;
/// Columns of a block of a CPU that folds them row by row. Measured: sums of the columns
/// of 4096 x 8192 f32 by one core at 3 GB/s with pieces of 64 bytes, 12 with 512, 22 with
/// 4096, 25 with 16384.
inline constexpr double kColumnTile = 4096;
/// Rows of a block of a CPU that folds each, so that it may do so together
/// (lib/Codegen/CPU/Tuning.h, which says what was measured).
inline constexpr double kRowTile = 8;
/// Blocks for each unit for which both are halved. Estimated.
inline constexpr double kLeastBlocksOfUnit = 2;
/// Blocks for each unit that tiles are halved for, to even out their lengths.
/// Estimated.
inline constexpr int64_t kBlocksOfUnit = 4;
/// Positions of a tile along what is streamed, at most: with a contraction and
/// without; and the fewest to which these are halved to stay in the cache. Estimated.
inline constexpr int64_t kStreamedProducts = 128, kStreamedElements = 4096,
                         kLeastStreamed = 16;
/// Positions of such a tile on a CPU where masks leave out whole tiles of a dim that would
/// stay in the cache, and what is walked then of all of them, at most. Measured: causal
/// attention of 128 words 1.02 to 1.16 of PyTorch, of 256 words 0.94 to 1.31.
inline constexpr int64_t kMaskedTile = 64;
inline constexpr double kMostWalkedOfMasked = 0.8;

//===----------------------------------------------------------------------===//
// Tile programs: the dim that vectors lie along (TileNests.cpp, TileProgram.cpp)
//===----------------------------------------------------------------------===//

/// Of a point of a loop, beside the load of a vector's element from memory where neighbours
/// are: a load that does not depend on the dim, and so leaves the loop; one whose
/// neighbours lie apart; simple ops, and functions and divisions; to fold the lanes of
/// an accumulator at the end; and to scan those of a vector. Estimated.
inline constexpr double kHoistedAccess = 0.1, kAccessOfElement = 1.5,
                        kSimpleOp = 0.5, kExpensiveOp = 8, kFoldedLanes = 6,
                        kScannedLanes = 5;
/// Of packing an element of a product's operand, beside a multiply-add; and what counts of
/// it where a block packs once for all steps of a stream. Estimated.
inline constexpr double kPackedElement = 2, kPackedOnce = 0.1;

//===----------------------------------------------------------------------===//
// Schedules: whole, streamed, or split
//===----------------------------------------------------------------------===//

/// The share of a core's L2 cache that a block may keep; and how many times the
/// cache it may keep rather than to read its input twice. Estimated.
inline constexpr double kKeptShareOfL2 = 1.0 / 8, kRereadOfL2 = 4;
/// Elements of a tensor that the threads of a GPU's block hold, to read them once;
/// and where nothing reads them twice. 16384 of f32 are a quarter of a
/// multiprocessor's registers (lib/Codegen/GPU/Registers/Tuning.h). Estimated.
inline constexpr double kHeldElements = 16384, kSingleElements = 4096;
/// Rows of a tile of results of which every input has either rows or columns; and rows of
/// a product, at most, that are one tile of threads where matrix units cannot take it.
/// Estimated: a thread has four columns of each.
inline constexpr int64_t kSharedRows = 8;
inline constexpr double kFewRows = 8;
/// Rows of products of windows from which on matrix units take those that no thread holds: a
/// convolution into 6 channels (3 x 3 x 3 taps of 8, f32) by threads, which read elements for
/// each tap, took 3.8 times cuDNN's time on an H200.
inline constexpr double kFewRowsOfWindows = 3;
/// Columns that a row of a GPU's matrix units has at most: one `wgmma` has no more.
inline constexpr double kMatrixColumns = 256;
/// Rows of the smallest tile of a chain of products on a GPU's matrix units: those of one
/// `wgmma`.
inline constexpr double kMatrixRows = 64;
/// Bytes that a split should have on a GPU, to be worth a block. Estimated.
inline constexpr double kSplitBytes = 8192;
/// Elements of a state of each split of a GPU's kernel, of which one block merges
/// those of all. Estimated.
inline constexpr double kSplitStates = 1024;
/// What a block of a GPU takes to compare an element with one rank of a top-k, in
/// nanoseconds. Measured: 50 of 32000 by a block of an H100 in 6 ms.
inline constexpr double kRankNs = 3.8;
/// Splits for each unit, two to even out their lengths; at least, and at most, on
/// a CPU and on a GPU. Estimated.
inline constexpr double kSplitsOfUnit = 2;
inline constexpr int64_t kLeastSplits = 2, kMostSplits = 64,
                         kMostGpuSplits = 256;
/// Elements of a piece of a long scan, which a block of a GPU holds, and pieces from
/// which on two more launches and another reading of the data pay. Estimated.
inline constexpr int64_t kPieceElements = 8192, kLeastPieces = 16;
/// Operations of a point, and launches that a split must save on a CPU, where it
/// takes two more. Estimated.
inline constexpr double kPointOperations = 8, kSplitLaunches = 8;

//===----------------------------------------------------------------------===//
// Selections: sorts, top-k (redfuse-normalize-selections)
//===----------------------------------------------------------------------===//

/// Ranks that a sorted list, in which each element is inserted, has at most; on a
/// GPU, where a lane of a warp has a rank. Of so few most elements are compared with
/// the last one alone. Estimated.
inline constexpr int64_t kMostInsertedRanks = 16, kMostWarpRanks = 32;
/// Elements of which a warp finds one rank after another at a time, and what it takes
/// for a rank, in nanoseconds. Measured: 16 of 8 rows of 2^20 in 1.4 ms on an H200.
inline constexpr double kInsertedElements = 512, kInsertedRankNs = 40;
/// What a block takes to select from a row, and for each element of it, in
/// nanoseconds. Estimated: two sorts of 1024 elements; an element read twice at the
/// rate of one multiprocessor.
inline constexpr double kSelectionNs = 20000, kSelectedElementNs = 0.08;
/// Where rows are fewer than a GPU's multiprocessors, blocks select from pieces of them,
/// and then from what these have given: pieces of a row at least, for which two more
/// launches pay, elements of a piece at least, and for each rank. Estimated.
inline constexpr int64_t kLeastSelectedPieces = 4, kLeastSelectedPiece = 8192,
                         kPieceOfRank = 16;

//===----------------------------------------------------------------------===//
// Copies of a product's operands (redfuse-prepack-operands), on GPUs
//===----------------------------------------------------------------------===//

/// Results for which an element of the operand is used, at least: so often is it
/// gathered where it is, and once for the copy. Estimated.
inline constexpr int64_t kLeastUsesOfCopy = 1024;
/// Elements of a copy beside those of the tensor that they are taken from, at most: phases
/// of a transposed convolution have some zeros. Estimated.
inline constexpr int64_t kMostOfCopy = 32;
/// Multiply-adds that a launch more is worth, at least: 10 us at 50 T a second, beside
/// some 3 us. Estimated.
inline constexpr double kLeastProductsOfCopy = 5e8;
/// Multiply-adds of a second that warps reach with windows of f32 (TF32) and of 16-bit
/// floats, and those that warpgroups reach with vectors of them. Measured on an H100 with
/// the convolutions of KernelBench (docs/benchmarks/programs.md, test/hardware/convolutions.py),
/// of which there are slower and faster ones.
inline constexpr double kWarpProducts32 = 45e12, kWarpProducts16 = 25e12,
                        kUnitProducts32 = 130e12, kUnitProducts16 = 270e12,
                        kWarpProductsOfParts = 30e12,
                        kUnitProductsOfParts = 60e12;
/// Filters of a tile, with which those rates are reached. Of half as many and more measured
/// on an H200: a transposed convolution of 119 channels, 80 filters and 3 taps had 19e12.
inline constexpr int64_t kFiltersOfTile = 64;
/// The same of 16-bit operands that warps compute, and of plain ones that warpgroups read.
/// Measured in the same way.
inline constexpr double kWarpComputed16 = 80e12, kUnitPlain16 = 300e12;
/// The same of plain 16-bit operands whose rows do not begin at multiples of 16 bytes.
/// Measured on an H100: 2402 x 8064 x 7217 in 2.9 ms.
inline constexpr double kWarpRagged16 = 48e12;
/// The same where neighbours in memory are of different matrices. Measured on an H200: 128
/// products of 257 x 257 x 257, one for each channel, in 1.4 ms, of f32 in 0.77.
inline constexpr double kWarpApart16 = 1.6e12, kWarpApart32 = 2.8e12;
/// Elements of such rows that all warps load in a second; and how often each is used, up to
/// which threads read rows as they lie. Measured there: 114 x 23381 x 19241 in 1.9 ms, 114 x
/// 12811 x 23381 in 2.3; and four layers of 8 rows of 1137 and 2311 columns 93 us, by copies
/// 39 on an H200.
inline constexpr double kRaggedElements = 2e11, kFewUsesOfRagged = 4;
/// The same of those whose rows begin at multiples of 16 bytes, but not of lines: a tile
/// has two lines for each of its rows' 128 bytes. Where the L2 cache has no room for both
/// matrices, memory gives more than it can: measured there, 2402 x 8064 x 7224 in 0.72 ms,
/// with 7232 in 0.41. Where it has, on an H200, as they lie and with copies: 3240 cubed 114
/// and 128 us, 1792 x 3400 x 5248 (the first transposed) 79 and 102, 2048 x 4096 x 5000 111
/// and 118, 4096 x 3400 x 4096 192 and 190; 2402 x 7224 x 7224, of 139 MB, 564 and 443. And
/// sums from which on copies have whole lines; that is estimated.
inline constexpr double kUnitSkewed16 = 190e12, kUnitSkewedInCache16 = 264e12,
                        kBytesInCache = 64e6;
inline constexpr int64_t kLeastOfLines = 256;
/// Bytes of memory that a copy moves in a second, and seconds that a launch more takes.
/// Measured there, too.
inline constexpr double kCopiedBytesOfSecond = 2e12, kLaunchOfCopy = 3e-6;

//===----------------------------------------------------------------------===//
// Long sums of products (redfuse-split-sums), on GPUs
//===----------------------------------------------------------------------===//

/// Rows and columns of a tile of results, and blocks that a multiprocessor has at a time, at
/// most. Of 16-bit floats that tensor maps bring to stages of shared memory tiles have as
/// many rows as this, or twice as many columns; and together so many of both. From the shapes in
/// Codegen/GPU/Contractions/Tuning.h.
inline constexpr double kSideOfTile = 64, kBlocksAtOnce = 4,
                        kSideOfStaged = 128, kRowsAtOnce = 430;
/// Elements of operands that a block takes in a second: by threads, and by tensor maps,
/// for each row or column of its tile; and blocks that share the sum of one tile without
/// being cut. Measured on H100s: by threads 276 x 56 x 152101 in 0.45 ms and 256 x 256 x
/// 524288 of f32 in 1.4 to 1.7, by tensor maps the latter of bf16 in 0.39, 32 x 32 x 131072
/// in about 0.06. Of eight blocks that share a sum each has half the stages, and that rate: 199 x
/// 232 x 36403 of bf16 took 95 us on an H200, four times what eight at the whole rate would.
inline constexpr double kGatheredOfBlock = 1.3e9, kStagedOfRow = 2e8,
                        kSharedOfGathered = 32, kSharedOfStaged = 4;
/// How many times faster splits must be: the model is that rough. Estimated.
inline constexpr double kLeastGain = 1.2;
/// Elements of the sum that a split has, at least. Estimated.
inline constexpr double kLeastOfSplit = 256;
/// The rate of the L2 cache, where sums of splits stay, beside that of memory. Estimated.
inline constexpr double kCacheRateOfSums = 1.6;

//===----------------------------------------------------------------------===//
// Merges of splits (redfuse-split)
//===----------------------------------------------------------------------===//

/// Ops that merge states in one kernel, at most: all of them are one straight line, and
/// what allocates registers takes more than its length. Estimated from compile times of
/// programs with many splits.
inline constexpr int64_t kMaxMergeOps = 3072;

/// States of splits that the elements of a result may merge each for itself, in all: caches give
/// 5e11 of them a second (measured on an H200), and a kernel that merges each once takes 3 us.
inline constexpr double kMostRepeatedMerges = 1.5e6;

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_COSTCONSTANTS_H
