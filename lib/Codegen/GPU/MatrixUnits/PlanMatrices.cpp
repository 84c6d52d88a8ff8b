//===- PlanMatrices.cpp - which launches run on matrix units, and how ------===//
#include "redfuse/Codegen/GPU/MatrixUnits/MatrixGenerator.h"
#include "redfuse/Codegen/GPU/Registers/RegisterKernel.h"

#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_PLANMATRICES
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

KernelSpace redfuse::mergeSegmentsOf(KernelOp kernel,
                                     const KernelSpace &space) {
  KernelSpace whole = space;
  if (mergesInLaunch(kernel))
    whole.schedule = ScheduleAttr::get(
        kernel.getContext(), ScheduleKind::Stream, whole.schedule.getGrid(),
        whole.schedule.getTiles(), whole.schedule.getStream(),
        whole.schedule.getReason(), /*parts=*/0, whole.schedule.getLazy(),
        whole.schedule.getHints());
  return whole;
}

/// The plan with all that is decided, or nothing and why not.
static std::optional<MatrixPlan> decidePlan(KernelOp kernel, LaunchOp launch,
                                            const KernelSpace &space,
                                            const MatrixTarget &target,
                                            int64_t units, std::string &why) {
  std::optional<MatrixPlan> plan =
      planMatrix(kernel, launch, space, target, units, /*record=*/{}, why);
  if (!plan)
    return std::nullopt;
  if (int64_t slots = space.schedule.getHint("slots"))
    plan->slots = slots;
  if (int64_t store = space.schedule.getHint("store"))
    plan->isStaged = store == 2;
  MatrixGenerator generator(kernel, launch, space, std::move(*plan), units);
  if (!generator.layOut(why))
    return std::nullopt;
  FailureOr<MatrixPlan> decided = generator.decide();
  if (succeeded(decided))
    return *decided;
  why = "the body is ill-formed";
  return std::nullopt;
}

LogicalResult redfuse::planLaunch(KernelOp kernel, LaunchOp launch,
                                  const KernelSpace &space, StringRef chip,
                                  int64_t units) {
  std::optional<MatrixTarget> target = findMatrixTarget(chip);
  if (!target || launch->hasAttr(kPlanAttr))
    return success();
  KernelSpace whole = mergeSegmentsOf(kernel, space);
  std::string why;
  if (std::optional<MatrixPlan> plan =
          decidePlan(kernel, launch, whole, *target, units, why)) {
    MatrixPlanAttr record = recordPlan(*plan, whole, launch);
    if (!record)
      return failure();
    launch->setAttr(kPlanAttr, record);
    return success();
  }
  launch->setAttr(kPlanAttr, StringAttr::get(launch.getContext(), why));
  kernel.emitRemark("does not run on matrix units: ") << why;
  return success();
}

namespace {
struct PlanMatrices : public redfuse::impl::PlanMatricesBase<PlanMatrices> {
  using PlanMatricesBase::PlanMatricesBase;

  // Tiles are laid out.
  void getDependentDialects(DialectRegistry &registry) const override {
    PlanMatricesBase::getDependentDialects(registry);
    registry.insert<tile::TileDialect>();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<KernelLaunch>> launches = findLaunches(module);
    if (failed(launches))
      return signalPassFailure();
    int64_t units = getTargetOf(module).getUnits();
    for (KernelLaunch &from : *launches) {
      if (failed(planLaunch(from.kernel, from.launch, from.space, chip, units)))
        return signalPassFailure();
      if (Attribute plan = from.launch->getAttr(kPlanAttr))
        for (LaunchOp launch : from.again)
          launch->setAttr(kPlanAttr, plan);
    }
  }
};
} // namespace
