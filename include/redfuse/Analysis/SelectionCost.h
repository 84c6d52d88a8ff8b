//===- SelectionCost.h - what selections take, in time ----------*- C++ -*-===//
#ifndef REDFUSE_ANALYSIS_SELECTIONCOST_H
#define REDFUSE_ANALYSIS_SELECTIONCOST_H

#include <cstdint>

namespace redfuse {

/// Ranks that a sorted list, in which each element is inserted, has at most; on a
/// GPU, where a lane of a warp has a rank. Of so few most elements are compared with
/// the last one alone.
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

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_SELECTIONCOST_H
