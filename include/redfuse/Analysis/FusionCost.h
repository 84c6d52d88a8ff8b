//===- FusionCost.h - what a fusion group costs -----------------*- C++ -*-===//
#ifndef REDFUSE_ANALYSIS_FUSIONCOST_H
#define REDFUSE_ANALYSIS_FUSIONCOST_H

#include "redfuse/Analysis/FusionSpace.h"
#include "redfuse/Support/Chips.h"

namespace redfuse {

/// The name of the attribute on the module that says which machine to plan for.
inline constexpr llvm::StringLiteral kTargetAttr = "redfuse.target";

/// The target of the module around `op`, or a small CPU where there is none.
TargetAttr getTargetOf(mlir::Operation *op);
/// Its architecture; null where it does not say.
const Chip *getChipOf(mlir::Operation *op);
/// The same; says where there is none.
llvm::FailureOr<const Chip *> requireChip(mlir::Operation *op);

/// The cost of evaluating one body op for one point, in additions.
double getOpCost(mlir::Operation *op);

/// An extent as prices take it: a dynamic one counts as `kDynamicExtent`.
double getAssumedExtent(int64_t extent);

/// The bytes of a tensor, of assumed extents.
double getTensorBytes(mlir::Value tensor);

/// Whether evaluating `op` again for every use is as cheap as reading its value:
/// no reduction, no division, nothing transcendental.
bool isCheapMap(CascadeOp op);

/// A group as one kernel on a target.
struct GroupCost {
  /// Arithmetic, in additions; a multiply-add counts 2.
  double work = 0;
  /// Main memory traffic: every outside tensor once, every output once.
  double bytes = 0;
  /// Blocks that can run at the same time: the extents of the dims that can be
  /// cut without computing anything twice.
  double parallelism = 1;
  /// The work by what it would be if every expensive value were made once.
  double repeats = 1;
  /// Nanoseconds, one launch included.
  double time = 0;
  /// The same if there were blocks for every unit all the time.
  double timeIfBusy = 0;
  /// The cascade behind most of `repeats`, and how often its values are made.
  mlir::Operation *repeated = nullptr;
  double times = 1;
};

/// What a group costs. Threads do those sums of products of 16-bit floats that are in
/// `scalar`, unless they are alone.
GroupCost getGroupCost(const FusionSpace &space, TargetAttr target,
                       const llvm::DenseSet<mlir::Operation *> &scalar = {});

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_FUSIONCOST_H
