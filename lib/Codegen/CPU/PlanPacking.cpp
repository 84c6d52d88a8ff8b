//===- PlanPacking.cpp - which launches multiply packed operands ----------===//
#include "PackedPlan.h"

#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_PLANPACKING
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
struct PlanPacking : public redfuse::impl::PlanPackingBase<PlanPacking> {
  using PlanPackingBase::PlanPackingBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    TargetAttr target = getTargetOf(module);
    if (target.getName() != "cpu")
      return;
    FailureOr<SmallVector<KernelLaunch>> launches = findLaunches(module);
    if (failed(launches))
      return signalPassFailure();
    for (KernelLaunch &from : *launches)
      plan(from, target);
  }

private:
  /// What has a plan keeps it.
  static void plan(KernelLaunch &from, TargetAttr target) {
    if (from.launch->hasAttr(kPackingAttr))
      return;
    KernelSpace space = withoutSchedule(from.space);
    std::string why;
    std::optional<FoundContraction> found = findSoleContraction(
        from.kernel, from.launch, space, /*chip=*/nullptr, why);
    if (!found || !canPack(*found, why))
      return;
    std::optional<PackingPlanAttr> attr = planPacking(*found, space, target);
    if (!attr)
      return;
    from.record(kPackingAttr, *attr);
  }
};
} // namespace
