//===- GroupTrial.h - how a group of cascades would run ---------*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_GROUPTRIAL_H
#define REDFUSE_LIB_TRANSFORMS_GROUPTRIAL_H

#include "redfuse/Analysis/KernelPlanner.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "llvm/ADT/DenseMap.h"

#include <memory>

namespace redfuse {

/// What a group was made of, two groups each time.
struct Growth {
  llvm::SmallVector<CascadeOp> ops; // in block order
  std::shared_ptr<const Growth> first, second;
};

/// Points of a cascade, of extents that are assumed where they are not known.
double countPoints(CascadeOp op);

/// Asks later passes about groups; equal ones (layers of a model) are asked about once.
class GroupTrials {
public:
  explicit GroupTrials(mlir::MLIRContext *context);

  /// Whether there is anyone to ask.
  explicit operator bool() const { return planner; }

  /// How `ops`, of one block and in its order, would run as one kernel.
  KernelPlan tryPlans(llvm::ArrayRef<CascadeOp> ops);

  /// The step of growth that made a group run so: of two parts that do not. Null where
  /// it did not grow.
  const Growth *findSlowStep(const Growth &group, KernelPlan plan);

private:
  const KernelPlannerInterface *planner;
  /// By hashes of the functions' texts.
  llvm::DenseMap<std::pair<uint64_t, uint64_t>, KernelPlan> known;
};

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_GROUPTRIAL_H
