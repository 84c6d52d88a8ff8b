//===- ScheduleChoice.h - how a cascade is walked on a machine --*- C++ -*-===//
#ifndef REDFUSE_ANALYSIS_SCHEDULECHOICE_H
#define REDFUSE_ANALYSIS_SCHEDULECHOICE_H

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

namespace redfuse {

/// On a kernel with a split schedule: its blocks fold a split each, and the
/// last block of a tile to finish merges the states and finalises.
inline constexpr llvm::StringLiteral kMergesInLaunch =
    "redfuse.merges_in_launch";
/// On a launch: why registers cannot hold what its kernel does.
inline constexpr llvm::StringLiteral kNoRegistersAttr = "redfuse.no_registers";
/// On the launches that such a one became, as its splits had to merge in kernels of
/// their own: the same.
inline constexpr llvm::StringLiteral kTakenApartAttr = "redfuse.taken_apart";

/// Whether a factor is made of inputs of 16 bits and fewer, and of integers of 32 bits, some of
/// which have codes (of 8 bits, or of 32 with several): packed weights.
bool isOfPackedNumbers(mlir::Value factor);
/// What multiplies each product of two numbers of 8 bits in a sum, as redfuse-factor-sums
/// leaves the scales of blocks of it, for units of warpgroups; null if nothing does.
mlir::Value findBlockScale(ReduceOp reduce);
/// The multiplication of the two factors of a sum of products, of which such a scale is none;
/// null if it is no such sum.
mlir::Operation *findProduct(ReduceOp reduce);
/// Whether a sum of products has rows and columns, each of one operand alone, and more of
/// them than a vector is taken to have.
bool isMatrixProduct(ReduceOp reduce, const DimSets &sets,
                     llvm::function_ref<double(unsigned)> extentOf,
                     double longestOfVector = kVectorExtent);

/// Whether some sum of products in the body has rows and columns.
bool hasMatrixProduct(IndexProgramOpInterface op);

struct ScheduleRequest {
  /// Keep to one kind where it is legal; none: what the cost model finds best.
  std::optional<ScheduleKind> kind;
  /// Tiles to use instead of the model's, by dim; 0: the model's.
  llvm::SmallVector<int64_t> tiles;
  /// Stream these dims (ascending) or none; empty: any.
  llvm::SmallVector<int64_t> over;
  /// Splits of a split schedule; 0: the model's number.
  int64_t splits = 0;
  /// Powers of 2 that running maxima may get ahead of pivots.
  int64_t lazy = 0;
  bool strict = false;
  bool approximate = false;
};

/// Chooses grid, tiles and kind for `cascade` on `target`. Always succeeds: a
/// resident schedule needs nothing of the algebra. Sets `refusal` where a
/// schedule that was asked for, or that would have been better, is not legal.
ScheduleAttr chooseSchedule(CascadeOp cascade, TargetAttr target,
                            const ScheduleRequest &options);

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_SCHEDULECHOICE_H
