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
    getOperation()->walk([&](CascadeOp cascade) {
      if (cascade.getScheduleAttr())
        return;
      cascade.setScheduleAttr(
          chooseSchedule(cascade, getTargetOf(cascade), options));
    });
  }
};
} // namespace
