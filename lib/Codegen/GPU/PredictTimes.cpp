//===- PredictTimes.cpp - redfuse-predict-times ---------------------------===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/GPU/KernelTime.h"
#include "redfuse/Codegen/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_PREDICTTIMES
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

namespace {
struct PredictTimes : public redfuse::impl::PredictTimesBase<PredictTimes> {
  void runOnOperation() override {
    const Chip *chip = getChipOf(getOperation());
    if (!chip)
      return;
    getOperation().walk([&](LaunchOp launch) {
      if (PredictedTimeAttr time = predictTime(launch, *chip))
        launch->setAttr(kPredictedAttr, time);
    });
  }
};
} // namespace
