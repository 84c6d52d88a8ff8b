//===- GroupTrial.h - how a group of cascades would run ---------*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_GROUPTRIAL_H
#define REDFUSE_LIB_TRANSFORMS_GROUPTRIAL_H

#include "redfuse/Analysis/KernelPlanner.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "llvm/ADT/StringMap.h"

namespace redfuse {

/// Asks later passes about groups; equal ones (layers of a model) are asked about once.
class GroupTrials {
public:
  explicit GroupTrials(mlir::MLIRContext *context);

  /// Whether there is anyone to ask.
  explicit operator bool() const { return planner; }

  /// How `ops`, of one block and in its order, would run as one kernel.
  KernelPlan tryPlans(llvm::ArrayRef<CascadeOp> ops);

private:
  const KernelPlannerInterface *planner;
  llvm::StringMap<KernelPlan> known;
};

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_GROUPTRIAL_H
