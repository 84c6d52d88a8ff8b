//===- PlanMatrices.cpp - which launches run on matrix units, and how -----===//
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/PlannedMatrix.h"

#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_PLANMATRICES
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

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
    std::optional<MatrixTarget> target = findMatrixTarget(getChipOf(module));
    if (!target)
      return;
    int64_t units = getTargetOf(module).getUnits();
    for (KernelLaunch &from : *launches)
      if (failed(plan(from, *target, units)))
        return signalPassFailure();
  }

private:
  /// What was planned before, or refused, stays.
  static LogicalResult plan(KernelLaunch &from, const MatrixTarget &target,
                            int64_t units) {
    if (from.launch->hasAttr(kPlanAttr) || from.launch->hasAttr(kNoPlanAttr))
      return success();
    KernelSpace whole = mergeSplitsOf(from.kernel, from.space);
    std::string why;
    std::optional<PlannedMatrix> planned =
        planMatrix(from.kernel, from.launch, whole, target, units, why);
    if (!planned) {
      from.kernel.emitRemark("does not run on matrix units: ") << why;
      from.record(kNoPlanAttr, StringAttr::get(from.kernel.getContext(), why));
      return success();
    }
    MatrixPlanAttr record = recordPlan(planned->plan, whole, from.launch);
    if (!record)
      return failure();
    from.record(kPlanAttr, record);
    return success();
  }
};
} // namespace
