//===- ScheduleTiles.h - what of a cascade a block has ----------*- C++ -*-===//
#ifndef REDFUSE_LIB_ANALYSIS_SCHEDULETILES_H
#define REDFUSE_LIB_ANALYSIS_SCHEDULETILES_H

#include "ScheduleShape.h"

namespace redfuse {

/// On a GPU a block's threads hold tiles in registers, and the last block of a
/// split to finish merges: limits are those of memory, not of a cache.
bool isGpu(TargetAttr target);

/// Bytes of the tiles that a block keeps of values which depend on `dims`, when
/// `tiles` (by dim, 0: whole) is the size of a block.
double keptBytes(CascadeOp cascade, const ScheduleShape &shape,
                 llvm::ArrayRef<int64_t> tiles,
                 const llvm::SmallBitVector &dims);

/// Blocks of a grid of such tiles.
double countBlocks(const ScheduleShape &shape, llvm::ArrayRef<int64_t> grid,
                   llvm::ArrayRef<int64_t> tiles);

/// Whether a block's part of some tensor is more than its threads hold, or of a
/// size that is not known.
bool isTooLargeToHold(CascadeOp cascade, const ScheduleShape &shape,
                      llvm::ArrayRef<int64_t> tiles);

/// Tiles of the independent dims: big enough to be worth a block, small enough
/// that there are blocks for all units.
void chooseGrid(const ScheduleShape &shape, TargetAttr target,
                llvm::SmallVectorImpl<int64_t> &grid,
                llvm::SmallVectorImpl<int64_t> &tiles);

/// A core waits for the memory of several rows at a time. One that folds columns
/// walks rows: the longer its piece of a row, the fewer pages and lines it waits for.
void widenTiles(CascadeOp cascade, const ScheduleShape &shape,
                TargetAttr target, llvm::ArrayRef<int64_t> grid,
                llvm::MutableArrayRef<int64_t> tiles);

/// Where a block folds more columns than its threads hold, and reads them twice, it has
/// fewer, which it reads once: two sectors of each row at least. A softmax over 1000 rows of
/// 784 columns of f32 took 153 us on an H200 in steps, and 109 by 16 columns a block.
void holdFewerColumns(CascadeOp cascade, const ScheduleShape &shape,
                      TargetAttr target, llvm::ArrayRef<int64_t> grid,
                      llvm::MutableArrayRef<int64_t> tiles);

} // namespace redfuse

#endif // REDFUSE_LIB_ANALYSIS_SCHEDULETILES_H
