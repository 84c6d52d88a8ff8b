//===- PlanRegisters.cpp - which launches hold their tiles in registers ---===//
//
// The last plan: a launch that has no other one gets a layout of registers, if they
// can hold what its kernel does. The tiles of what is left without any plan live in
// memory.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/GPU/Contractions/ContractionPlan.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"
#include "redfuse/Codegen/GPU/ProductPlan.h"
#include "redfuse/Codegen/GPU/RegisterPlan.h"

#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Codegen/GPU/Common/Cluster.h"
#include "redfuse/Codegen/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_PLANREGISTERS
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

DeviceLimits redfuse::limitsOf(const Chip *chip) {
  DeviceLimits limits;
  limits.warp = getWarpLanes(chip);
  if (!chip)
    return limits;
  limits.threadsOfUnit = chip->threadsOfUnit;
  limits.blocksOfUnit = chip->blocksOfUnit;
  if (chip->has(AsyncCopies))
    limits.sharedBytes = getBlockSharedBytes(*chip);
  limits.overlapsLaunches = chip->has(OverlappedLaunches);
  limits.cluster = chip->has(Clusters) ? kMostClusterBlocks : 1;
  return limits;
}

namespace {
struct PlanRegisters : public redfuse::impl::PlanRegistersBase<PlanRegisters> {
  using PlanRegistersBase::PlanRegistersBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<KernelLaunch>> launches = findLaunches(module);
    if (failed(launches))
      return signalPassFailure();
    const Chip *chip = getChipOf(module);
    DeviceLimits limits = limitsOf(strict ? nullptr : chip);
    limits.keepsOrder = strict;
    if (chip) {
      // How many blocks run at a time changes no result.
      limits.threadsOfUnit = chip->threadsOfUnit;
      limits.blocksOfUnit = chip->blocksOfUnit;
    }
    for (KernelLaunch &from : *launches)
      if (failed(plan(from, limits)))
        return signalPassFailure();
  }

private:
  static bool hasPlan(LaunchOp launch) {
    return llvm::any_of(ArrayRef<StringRef>{kPlanAttr, kContractionAttr,
                                            kProductTilesAttr, kRegistersAttr,
                                            kNoRegistersAttr},
                        [&](StringRef plan) { return launch->hasAttr(plan); });
  }

  static LogicalResult plan(KernelLaunch &from, const DeviceLimits &limits) {
    if (hasPlan(from.launch))
      return success();
    std::string why;
    KernelSpace whole = mergeSplitsOf(from.kernel, from.space);
    // A cluster may do what the splits of several blocks are for.
    SmallVector<const KernelSpace *> ways{&from.space};
    if (mergesInLaunch(from.kernel) && limits.cluster > 1)
      ways.insert(ways.begin(), &whole);
    for (const KernelSpace *way : ways) {
      TileProgram::Options options;
      options.lanes = chooseLanes(from.launch);
      options.hasContractions = false;
      KernelPrograms programs;
      if (failed(makeTilePrograms(from.kernel, from.launch, *way, options,
                                  programs)))
        return failure();
      std::optional<RegisterLayout> layout =
          planRegisters(from.kernel, from.launch, *way, programs, limits, why);
      if (!layout)
        continue;
      RegisterLayoutAttr record = recordLayout(*layout, from.launch);
      if (!record)
        return failure();
      from.record(kRegistersAttr, record);
      return success();
    }
    from.record(kNoRegistersAttr,
                StringAttr::get(from.kernel.getContext(), why));
    return success();
  }
};
} // namespace
