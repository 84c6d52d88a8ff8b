//===- Tuning.h - tuned numbers of kernels that select ----------*- C++ -*-===//
//
// Each with its unit and its meaning. docs/design/gpu-selection.md says how the
// kernels work. All are estimated.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_SELECTION_TUNING_H
#define REDFUSE_LIB_CODEGEN_GPU_SELECTION_TUNING_H

#include <cstdint>

namespace redfuse {

/// Registers of a thread for the words that it sorts: half of those that each of 1024
/// threads has.
inline constexpr int64_t kSortRegisters = 32;
/// Threads of a block: at most, and at least where rows are short.
inline constexpr int64_t kSelectionThreads = 1024, kLeastSelectionThreads = 128;
/// What making a word takes, in comparisons of words: its load, and its key.
inline constexpr double kWordPrice = 4;
/// Words of a row that a block sorts at most.
inline constexpr int64_t kMostSorted = 16384;

/// Ranks that are found by a threshold, at most. Threads of a block, up to so many
/// ranks or elements of a row, and beyond.
inline constexpr int64_t kMostFound = 1024, kFewRanks = 512,
                         kFewElements = 128 * 1024, kFewThreads = 512;
/// Blocks of few threads that a multiprocessor runs at least, if registers decide.
inline constexpr int64_t kSelectingBlocks = 3;
/// Words that each thread keeps of its share of a row, to find a threshold: up to so
/// many ranks for each thread (in eighths), and beyond.
inline constexpr int64_t kOneKeptEighths = 4;
/// Words that the block has room for, beside each rank.
inline constexpr int64_t kRoomOfRank = 2;
/// Loads of a thread that are under way at a time.
inline constexpr int64_t kLoadsAhead = 8;

/// Words of a piece that a block sorts before pieces are merged, and words that a
/// thread merges.
inline constexpr int64_t kRunWords = 4096, kMergedWords = 8;
inline constexpr int64_t kMergeThreads = 256;

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_SELECTION_TUNING_H
