//===- Tuning.h - tuned numbers of kernels in registers ---------*- C++ -*-===//
//
// What RegisterPlanner chooses by, and limits of the code that is made. Each with
// its unit and its meaning. docs/design/gpu-registers.md says what was measured,
// section by section; numbers without a section were estimated, and the benchmarks
// (docs/benchmarks/results-gpu.md, "Rows") hold them. All on an H200.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_TUNING_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_TUNING_H

#include <cstdint>

namespace redfuse {

//===----------------------------------------------------------------------===//
// Registers and code of a thread
//===----------------------------------------------------------------------===//

/// Registers of 32 bits: of a multiprocessor (as all architectures of Chips.def
/// have), and what a thread needs beside its data.
inline constexpr int64_t kRegisters = 65536, kTemporaries = 24;
/// Registers for data that a thread may have: with addresses and temporaries 255 are
/// the hardware's limit. Values computed in all nests together, for the length of the
/// code.
inline constexpr int64_t kMaxRegisters = 180, kMaxCode = 6000;
/// Elements of a thread in a step of a fold: of rows that shared memory keeps, where
/// blocks are few and each needs more bytes under way, and else; and the repetitions
/// of a vector up to which steps are lengthened.
inline constexpr double kKeptStep = 16, kLongStep = 64, kStep = 32;
inline constexpr int64_t kMostRepeats = 16;
/// Elements of a reduced dim up to which a thread has all, if a row is for all threads: others
/// would exchange sums of two by way of shared memory. Estimated.
inline constexpr int64_t kFewReduced = 4;
/// Elements side by side that a thread has of a dim without vectors.
inline constexpr int64_t kMostRun = 8;
/// Sums of a program up to which a product is added to one by one instruction.
inline constexpr unsigned kFusedSums = 4;
/// Ops of moving a state to another pivot from which on that is done once for many
/// states, rather than for both sides of every merge ("Folds", one pivot).
inline constexpr unsigned kCostlyMove = 12;

//===----------------------------------------------------------------------===//
// Threads and blocks
//===----------------------------------------------------------------------===//

/// Threads of a block: the most that one has, and of one that holds its tiles; of
/// one that streams; of one in a cluster that streams; of one that keeps inputs in
/// shared memory ("Folds", threads).
inline constexpr int64_t kBlockThreads = 1024, kMaxThreads = 512,
                         kStreamingThreads = 256, kClusterThreads = 256,
                         kKeepingThreads = 512;
/// Threads of a block that moves tensors which are contiguous along different dims
/// ("Transposing").
inline constexpr int64_t kTransposingThreads = 256;
/// Elements of a thread that holds its tiles, above which a block has more threads:
/// times `kCrowded`.
inline constexpr int64_t kThreadElements = 16, kCrowded = 4;
/// Tensors that a map reads from which on threads have fewer elements of each. Estimated.
inline constexpr int64_t kMapInputs = 5;
/// Bytes read for each that is stored, and vectors of a tile, from which on those along
/// odd extents begin anywhere.
inline constexpr int64_t kOverlappedVectors = 8;
/// Elements of a tile from which on a block that streams has `kMaxThreads`, and such
/// blocks for each multiprocessor up to which it has ("Folds", threads).
inline constexpr double kLongElements = 32768;
inline constexpr int64_t kLongRounds = 4;
/// Warps of a multiprocessor that scan a row each, from which on that is enough; threads
/// of a row else; and elements that a thread scans of one that registers hold.
inline constexpr double kScanningWarps = 16;
inline constexpr int64_t kScanThreads = 256, kScanElements = 32;
/// Elements of a window, which a thread loads at once, from which on registers would leave
/// a multiprocessor to one block of 256 threads. Average pooling of 11 x 11 in bf16 took 141
/// registers and ran at 0.7 of eager's speed on an H200, one of 10 x 10, with 120, at 0.99.
inline constexpr double kLargeWindow = 112;
/// Blocks for each multiprocessor below which they are few.
inline constexpr double kFewBlocks = 2;
/// Elements of a tensor that the threads of a block hold; and of a block where a
/// cluster shares them: a quarter and an eighth of the registers, in f32.
inline constexpr double kBlockElements = 16384, kClusterElements = 8192;
/// Tiles that a block walks at least, where all of them read the same, and threads
/// of such a block ("Long rows that are needed twice", blocks that stay).
inline constexpr int64_t kRounds = 4, kStayingThreads = 512;

//===----------------------------------------------------------------------===//
// Clusters ("Clusters"; docs/benchmarks/results-gpu.md, "Clusters")
//===----------------------------------------------------------------------===//

/// Bytes that a block of a cluster should have of a tile at least, and can have at
/// most where the cluster does what blocks with a split each would do.
inline constexpr double kShareBytes = 32768, kMostShareBytes = 131072;
/// Bytes of a tile's results up to which its states are few enough to be sent to all
/// blocks of a cluster.
inline constexpr double kLittleBytes = 64;

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

/// Bytes of shared memory that an exchange may take; that is set aside for one where
/// shared memory keeps inputs; and 32-bit words of it that the view of it has.
inline constexpr int64_t kExchangeLimit = 40 * 1024, kExchangeBytes = 4096,
                         kExchangeWords = 16 * 1024;
/// Words that a thread reads of all warps rather than to ask other lanes for them,
/// which takes longer, and warps of which it does ("Folds", exchange).
inline constexpr int64_t kDirectWords = 32, kDirectWarps = 8;
/// Values that are combined one after another without a loop.
inline constexpr int64_t kUnrolledValues = 64;

//===----------------------------------------------------------------------===//
// Memory and caches
//===----------------------------------------------------------------------===//

/// Bytes of rows that a second reading finds in the second-level cache ("Long rows
/// that are needed twice"), and blocks of a multiprocessor that these are dealt to, at
/// least and at most.
inline constexpr double kCachedBytes = 20e6, kLeastCachedBlocks = 2,
                        kMostCachedBlocks = 32;
/// Bytes that blocks ask the second-level cache for at their start, in all: of a
/// kernel up to `kShortKernelBytes`, and of a longer one ("Asking for data before the
/// kernel starts").
inline constexpr double kAheadBytes = 24e6, kLittleAheadBytes = 4e6,
                        kShortKernelBytes = 8e6;
/// Bytes of a tile that are worth asking for, and that one thread asks for.
inline constexpr int64_t kAskedBytes = 2048, kPieceBytes = 2048;
/// Steps of a fold that are worth loading ahead ("Folds", loading ahead).
inline constexpr int64_t kStepsAhead = 4;
/// Threads of a multiprocessor among which loads of one are under way while others
/// compute, where all have splits of a fold: with fewer, each loads ahead.
inline constexpr int64_t kThreadsOfSplits = 512;
/// Threads of a block up to which registers hold all that a step reads ("Folds",
/// keeping loads together).
inline constexpr int64_t kAwaitingThreads = 256;
/// Bytes of rows that a multiprocessor should have under way ("What all blocks
/// read").
inline constexpr double kUnderWayBytes = 40 * 1024;
/// Bytes of an input that all blocks read, to be worth a place in the first-level
/// cache.
inline constexpr double kSharedInputBytes = 1024;

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_TUNING_H
