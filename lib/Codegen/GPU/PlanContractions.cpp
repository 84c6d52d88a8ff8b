//===- PlanContractions.cpp - which launches are contractions in tiles ----===//
#include "redfuse/Codegen/GPU/Contractions/ContractionPlan.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"
#include "redfuse/Codegen/GPU/ProductPlan.h"

#include "redfuse/Codegen/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_PLANCONTRACTIONS
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
struct PlanContractions
    : public redfuse::impl::PlanContractionsBase<PlanContractions> {
  using PlanContractionsBase::PlanContractionsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const Chip *chip = getChipOf(module);
    FailureOr<SmallVector<KernelLaunch>> launches = findLaunches(module);
    if (failed(launches))
      return signalPassFailure();
    if (!chip || !chip->has(AsyncCopies))
      return;
    int64_t units = getTargetOf(module).getUnits();
    for (KernelLaunch &from : *launches)
      plan(from, units, *chip);
  }

private:
  /// What has a plan keeps it.
  static void plan(KernelLaunch &from, int64_t units, const Chip &chip) {
    if (from.launch->hasAttr(kPlanAttr) ||
        from.launch->hasAttr(kProductTilesAttr) ||
        from.launch->hasAttr(kContractionAttr))
      return;
    KernelSpace space = withoutSchedule(from.space);
    std::string why;
    std::optional<FoundContraction> found =
        findContraction(from.kernel, from.launch, space, chip, why);
    if (!found)
      return;
    std::optional<ContractionPlanAttr> attr =
        planContraction(*found, from.launch, space, units, chip);
    if (!attr)
      return;
    from.record(kContractionAttr, *attr);
  }
};
} // namespace
