//===- PlanContractions.cpp - which launches are contractions in tiles ----===//
#include "redfuse/Codegen/GPU/Contractions/ContractionPlan.h"
#include "redfuse/Codegen/GPU/Contractions/Tuning.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/MatrixPlan.h"
#include "redfuse/Codegen/GPU/ProductPlan.h"

#include "redfuse/Codegen/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"

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
  /// Rows of a tile of boxes.
  static constexpr int64_t kTileRows = 128;

  /// Whether one sum of products that has a plan for matrix units is faster as a
  /// contraction of boxes. That plan has one dim of rows and one of columns in a tile,
  /// and an epilogue of which each thread makes all results at once, in registers.
  static bool isBetter(const FoundContraction &found, const KernelSpace &space,
                       ContractionPlanAttr attr) {
    if (!attr.getBoxes())
      return false;
    const MatrixForm &form = found.form();
    auto extentOf = [&](unsigned d) { return space.staticExtents[d]; };
    int64_t rows = 1;
    for (unsigned d : form.rows)
      rows *= extentOf(d);
    // A tile has all dims of rows here; of one short dim it would be empty for the most part, where
    // the other plan may take columns for its rows.
    int64_t last = extentOf(form.rows.back());
    if (rows >= kManyRows || (last < kTileRows && rows > last))
      return true;
    if (llvm::count_if(form.columns,
                       [&](unsigned d) { return extentOf(d) > 1; }) > 1)
      return true;
    IndexProgramOpInterface op = found.op;
    int64_t weight = 0;
    for (Operation &inner : op.getProgramBody()->without_terminator())
      if (isa<math::MathDialect>(inner.getDialect()) ||
          isa<arith::DivFOp>(inner))
        weight += kWeightOfFunction;
    for (AffineMap map : op.getIndexingMapsArray())
      if (map.getNumDims() > 0 && map.isFunctionOfDim(form.rows.back()) &&
          map.isFunctionOfDim(form.columns.back()))
        weight += kWeightOfOperand;
    return weight - kWeightOfOperand >= kHeavyEpilogue;
  }

  /// What has a plan keeps it, mostly.
  static void plan(KernelLaunch &from, int64_t units, const Chip &chip) {
    if (from.launch->hasAttr(kProductTilesAttr) ||
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
    if (from.launch->hasAttr(kPlanAttr)) {
      // What a user asks of a plan for matrix units stays one.
      bool isChosen =
          from.space.schedule && from.space.schedule.getHints() != HintsAttr();
      if (isChosen || !isBetter(*found, space, *attr))
        return;
      from.launch->removeAttr(kPlanAttr);
    }
    from.record(kContractionAttr, *attr);
  }
};
} // namespace
