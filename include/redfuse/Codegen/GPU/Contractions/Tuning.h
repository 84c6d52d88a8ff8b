//===- Tuning.h - tuned numbers of contractions -----------------*- C++ -*-===//
//
// What kernels that are one sum of products are cut into tiles by. Each with its unit
// and its meaning; docs/design/gpu-contractions.md says how the kernels work,
// docs/benchmarks/programs.md (KernelBench's products and convolutions) what they reach.
// Where no measurement is named, a number is an estimate.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_CONTRACTIONS_TUNING_H
#define REDFUSE_CODEGEN_GPU_CONTRACTIONS_TUNING_H

#include <cstdint>

namespace redfuse {

//===----------------------------------------------------------------------===//
// The mainloop
//===----------------------------------------------------------------------===//

/// Bytes of the sum that a slab has of each row: four accesses of 16 bytes, one for each
/// lane that shares a row of an instruction.
inline constexpr int64_t kSlabBytes = 64;
/// Stages: one is loaded while the other one is multiplied.
inline constexpr int64_t kStages = 2;
/// Stages where operands are copied: two are on their way while one is multiplied.
inline constexpr int64_t kCopiedStages = 3;
/// Stages of warpgroups at least: one is filled, two are multiplied.
inline constexpr int64_t kLeastWarpgroupStages = 3;
/// Products of TF32 that the unit adds to a sum, at most. It cuts off what f32 has no
/// digits for: of 131072 in a row, the error was a tenth above cuBLAS's.
inline constexpr int64_t kMostAddedByUnit = 16384;
/// Rows whose elements a thread loads by one access where rows are adjacent in memory.
/// More have bank conflicts when they are stored.
inline constexpr int64_t kRowsOfAccess = 2;
/// Rows of filters that a block has, mostly, and bytes of them that stay in the L1 cache
/// beside shared memory: all taps of a chunk of channels.
inline constexpr int64_t kRowsOfTaps = 64, kTapsBytes = 80 << 10;
/// Tiles of rows that blocks take one behind the other for the same columns, so that
/// the L2 cache has the operands of both.
inline constexpr int64_t kRasterRows = 8;

//===----------------------------------------------------------------------===//
// The epilogue of warpgroups
//===----------------------------------------------------------------------===//

/// Results of a thread that are computed at once, at least and at most, and their bytes: what
/// an epilogue reads beside the sums (a residual) is on its way while a block of 256 threads
/// waits, and 16 KB a multiprocessor keep memory busy. Estimated.
inline constexpr int64_t kResultsAtOnce = 4, kMostResultsAtOnce = 8,
                         kBytesAtOnce = 64;
/// So many neighbours in memory are enough for a warp, whatever comes next. Estimated: two
/// for each lane.
inline constexpr int64_t kManyNeighbours = 64;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Warps along rows and columns, rows and columns of a warp's tile, slabs of a stage.
/// Of f32 on an H100 (4096 cubed, sums of 65536, convolutions of KernelBench), blocks
/// of four warps that have a whole multiprocessor's registers between two of them are the
/// fastest: one computes while the other one waits.
struct BlockShape {
  int64_t warpRows, warpColumns, rows, columns, slabs;
};
inline constexpr BlockShape kBlockShapes[] = {
    {2, 2, 64, 32, 2}, {1, 4, 64, 32, 1}, {1, 2, 64, 32, 2}, {4, 2, 32, 32, 2},
    {2, 4, 32, 32, 2}, {2, 2, 32, 32, 2}, {1, 4, 32, 32, 2}, {4, 1, 32, 32, 2},
    {1, 4, 16, 32, 2}, {4, 1, 32, 8, 2},  {2, 2, 16, 16, 2}};
/// The same of operands that are loaded one element at a time: stages of one slab, of
/// which a thread has few elements on their way. And of sums of one slab, which end before
/// they are at full speed, so that many blocks should run at a time: 16128 x 16 by 16 x 16128
/// in f32 took 423 us on an H200 in tiles of 64 x 64, 440 in 32 x 128, 500 in 128 x 64, and
/// 717 in 128 x 64 with stages of two slabs (eager PyTorch 446).
inline constexpr BlockShape kShortShapes[] = {{2, 2, 32, 32, 1},
                                              {1, 4, 16, 32, 1}};
/// The same of windows that few filters read: 64 channels into 3 (3 x 3 taps, 16 x 224 x 224,
/// bf16) took 225 us on an H200, in tiles of 32 x 32 465 (cuDNN 235).
inline constexpr BlockShape kFewFilterShapes[] = {{1, 4, 16, 32, 1}};
/// First of packed weights, with how many blocks of a multiprocessor sums are split for at
/// most. 11008 x 4096 of 4 bits by 16 and by 64 rows took 25 and 48 us on an H200 so, by the
/// best of kBlockShapes 28 and 61, and by what the cost of a stage of other operands had
/// chosen 36 and 95.
inline constexpr BlockShape kPackedShapes[] = {{1, 8, 16, 16, 4},
                                               {1, 4, 64, 32, 2}};
inline constexpr double kMostPackedBlocks = 4;
/// Columns of packed weights that lanes unpack (PackedWeights.cpp), and those whose sums warps
/// share; blocks of a multiprocessor from which on tiles have 32 rows, and up to which blocks
/// share sums. Of 11008 x 4096 on an H200 with some 30 plans each: one row by 8 and 4 bits and
/// by words 19, 13 and 15 us (the best 15, 12, 13), 16 rows 18, 15 and 14 (17, 15, 14), 64
/// rows 35, 35 and 32 (34, 32, 31).
inline constexpr double kMostPackedColumns = 64, kMostSlicedColumns = 16,
                        kPackedBlocks = 2.5, kPackedSplits = 3;
/// More of what is copied of f32, of up to 32 filters: fewer products of zeros behind short
/// sums. A transposed convolution of 15 into 24 channels, with 135 products a sum, took 1240 us
/// on an H200, with two slabs a stage 1425 (eager PyTorch 1135); one of 8 into 6, with 216,
/// 867, and 697 with two, so that few filters have none of these.
inline constexpr BlockShape kCopiedShapes[] = {{1, 4, 32, 32, 1}};
/// More of what is copied of f64: large ones that read less of the L2 cache, beside
/// which no second block has room (measured: gpu-contractions.md, "Products of f64"),
/// and small ones, which were not.
inline constexpr BlockShape kDoubleShapes[] = {
    {2, 4, 64, 32, 2}, {2, 2, 32, 16, 2}, {2, 2, 16, 32, 2}};
/// Of warpgroups: four warps along rows, or eight, and columns of each warpgroup.
struct WarpgroupShape {
  int64_t warpRows, warpColumns, columns, stages;
};
inline constexpr WarpgroupShape kWarpgroupShapes[] = {
    {8, 1, 256, 4}, {4, 2, 256, 3}, {8, 1, 128, 3},
    {4, 2, 128, 4}, {8, 1, 64, 4},  {4, 1, 128, 4},
    {4, 1, 64, 4},  {8, 1, 128, 6}, {4, 1, 128, 3}};
/// Elements that a thread has on their way, at most, where windows are gathered one
/// element at a time, or rows begin in the middle of words: with 48 convolutions of
/// KernelBench took up to 2.5 times as long.
inline constexpr int64_t kMostGathered = 36;
/// Blocks that share a sum, at most.
inline constexpr int64_t kMostSumSplits = 32;
/// Rows from which on products of 16-bit floats are faster as contractions of boxes than
/// by plans for matrix units (16384 x 4096 x 4096 0.86 of their time on an H100, 8192 rows
/// 0.97 to 1.04), and epilogues from which on: the weights are those of a function like
/// exp, and of an operand that has rows and columns (two times mish in registers spilled
/// 3508 bytes of a thread, and took 1.75 times as long).
inline constexpr int64_t kManyRows = 16384, kHeavyEpilogue = 24,
                         kWeightOfFunction = 8, kWeightOfOperand = 4;
/// Sums with those that boxes fill up with zeros, beside the sums, at most.
inline constexpr double kMostOfZeros = 1.5;
/// Products with fewer rows or columns, or with less work (multiply-adds), are left to
/// others.
inline constexpr int64_t kLeastSide = 8, kLeastProducts = 1 << 14;
/// The same of packed weights: 4 rows by 11008 x 4096 of 8 bits took threads 128 us on an H200,
/// and takes matrix units 40.
inline constexpr int64_t kLeastPackedSide = 1;

//===----------------------------------------------------------------------===//
// Predicted times: cycles of a multiprocessor
//===----------------------------------------------------------------------===//

/// Bytes that its shared memory moves, and instructions that its schedulers issue.
inline constexpr double kSharedBytesOfCycle = 128, kIssuedOfCycle = 4;
/// What a stage takes beside its products: the latency of loads, stores and a barrier;
/// and what is left of that where another block computes in the meantime. Both from 4096
/// cubed in f32 on an H100, within a tenth for six of seven shapes.
inline constexpr double kStageCycles = 900, kShownOfStage = 0.65;
/// The same of packed weights, which come from memory in every stage: from the times of
/// splits on an H200 (kPackedShapes).
inline constexpr double kPackedStageCycles = 4000;
/// The same where f64 is copied, and read before it is multiplied: a barrier. Estimated.
inline constexpr double kDoubleStageCycles = 150;
/// What of the time of memory, or of the L2 cache, the products of f64 do not hide. Estimated.
inline constexpr double kShownOfMemory = 0.1;
/// Multiply-adds of f64 in a cycle from which on its matrix units are used.
inline constexpr double kLeastDoubleProducts = 16;
/// Of warpgroups: what their products take of the unit's time at its peak; instructions
/// of a thread for each 16 bytes that it copies; bytes that a multiprocessor gets of the
/// L2 cache in a cycle, and the part of a window's that the L1 cache does not have
/// from the tap before; cycles of a step where no other block computes meanwhile, of a
/// block's start, and of an element of its results. Fitted to 16 convolutions with 11
/// shapes each on an H100 (bf16 and TF32, 64 to 512 filters): the shapes that the model
/// chooses take 1.03 times as long as the best, 1.13 at most.
inline constexpr double kUnitCycles = 2.4, kIssuedOfCopy = 36,
                        kCachedOfCycle = 37, kNewOfTap = 0.87,
                        kWarpgroupStepCycles = 270,
                        kWarpgroupBlockCycles = 1500, kResultCycles = 0.1;
/// The same where one thread copies boxes, and the cycles that a box is on its way. From
/// seven convolutions with eleven shapes each on an H100.
inline constexpr double kUnitCyclesOfBoxes = 1.15, kCachedOfCycleByBoxes = 60,
                        kBoxCycles = 1800, kResultCyclesOfBoxes = 0.18;
/// The same of products of parts, of which there are three for what is copied twice.
inline constexpr double kUnitCyclesOfParts = 1.4;
/// Blocks of one warpgroup, or of two, that run at a time on a multiprocessor.
inline constexpr int64_t kBlocksOfOne = 3, kBlocksOfTwo = 2;
/// Cycles of a second, at least.
inline constexpr double kLeastClock = 1.4e9;
/// Start and end of a block, and what sharing a sum adds to them.
inline constexpr double kBlockCycles = 3000, kSplitCycles = 4000;
/// The rate of the L2 cache beside that of memory.
inline constexpr double kCacheRate = 1.6;
/// Registers of a multiprocessor; of a thread, beside those for each sum that it has.
inline constexpr double kRegistersOfUnit = 65536, kRegistersOfThread = 64,
                        kRegistersOfSum = 3;
/// The same of a sum of products that are made of copies as they are: 136 registers of a
/// thread with 64 sums.
inline constexpr double kRegistersOfCopiedSum = 1.125;
/// The same of packed weights: 168 registers of a thread with 64 sums.
inline constexpr double kRegistersOfPackedSum = 1.625;
/// What such blocks show of the time of memory where one has a multiprocessor to itself: of
/// a pointwise convolution of 64 channels in TF32 with 17 shapes on an H200, 1 to 4 blocks
/// of a multiprocessor.
inline constexpr double kExposedMemory = 0.9;
/// The part of the peak that products of TF32 have of that of 16-bit floats.
inline constexpr double kSplitRate = 0.5;

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_CONTRACTIONS_TUNING_H
