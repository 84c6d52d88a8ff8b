//===- Schedule.cpp - redfuse-schedule: choose how cascades are walked ----===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Transforms/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_SCHEDULE
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// On a module: a schedule for each of its cascades, in order; of a unit, the model
/// chooses it.
static constexpr llvm::StringLiteral kSchedulesAttr = "redfuse.schedules";

/// Gives the cascades of a module the schedules that it asks for.
static LogicalResult pinSchedules(Operation *module) {
  auto given = module->getAttrOfType<ArrayAttr>(kSchedulesAttr);
  if (!given)
    return success();
  SmallVector<CascadeOp> cascades;
  module->walk([&](CascadeOp cascade) { cascades.push_back(cascade); });
  if (cascades.size() != given.size())
    return module->emitError()
           << "'" << kSchedulesAttr << "' has " << given.size()
           << " schedules; expected one for each of the " << cascades.size()
           << " cascades";
  for (auto [cascade, attribute] : llvm::zip_equal(cascades, given)) {
    if (isa<UnitAttr>(attribute))
      continue;
    auto schedule = dyn_cast<ScheduleAttr>(attribute);
    if (!schedule)
      return cascade.emitError()
             << "'" << kSchedulesAttr
             << "': expected a #redfuse.schedule or unit, got " << attribute;
    if (schedule.getTiles().size() != cascade.getNumIterationDims())
      return cascade.emitError()
             << "'" << kSchedulesAttr << "': a schedule with "
             << schedule.getTiles().size()
             << " tiles; expected one for each of the "
             << cascade.getNumIterationDims() << " iteration dims";
    cascade.setScheduleAttr(schedule);
  }
  module->removeAttr(kSchedulesAttr);
  return success();
}

namespace {
struct Schedule : public redfuse::impl::ScheduleBase<Schedule> {
  using ScheduleBase::ScheduleBase;

  void runOnOperation() override {
    ScheduleRequest options;
    options.strict = strict;
    options.approximate = approximate;
    options.tiles.assign(tiles.begin(), tiles.end());
    options.splits = splits;
    options.lazy = lazy;
    if (lazy < 0 || lazy > kMaxLazy) {
      getOperation()->emitError() << "option 'lazy': expected 0 to " << kMaxLazy
                                  << " powers of 2, got " << lazy.getValue();
      return signalPassFailure();
    }
    if (!kind.empty()) {
      options.kind = symbolizeScheduleKind(kind);
      if (!options.kind) {
        getOperation()->emitError()
            << "unknown schedule kind '" << kind
            << "'; expected one of map, resident, stream, multipass, split";
        return signalPassFailure();
      }
    }
    if (failed(pinSchedules(getOperation())))
      return signalPassFailure();
    getOperation()->walk([&](CascadeOp cascade) {
      if (cascade.getScheduleAttr())
        return;
      cascade.setScheduleAttr(
          chooseSchedule(cascade, getTargetOf(cascade), options));
    });
  }
};
} // namespace
