//===- PredictTimes.cpp - redfuse-predict-times ---------------------------===//
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/GPU/KernelTime.h"
#include "redfuse/Codegen/GPU/Rounds.h"
#include "redfuse/Codegen/Passes.h"

namespace redfuse {
#define GEN_PASS_DEF_PREDICTTIMES
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// Nanoseconds of a round beside its work: a barrier of a cluster, and what is handed on through
/// the second-level cache. Measured on an H200: rounds of layers take 0.8 to 2 us in all.
static constexpr int64_t kRoundNs = 1100;

/// One launch that makes all rounds of the loop that it is in.
static PredictedTimeAttr ofRounds(LaunchOp launch, PredictedTimeAttr one) {
  auto loop = dyn_cast<scf::ForOp>(launch->getParentOp());
  std::optional<llvm::APInt> trips =
      loop ? loop.getStaticTripCount() : std::nullopt;
  if (!trips || !loop->hasAttr(kPersistentAttr))
    return one;
  int64_t rounds = trips->getSExtValue();
  int64_t work = one.getTotal() - one.getLaunch();
  return PredictedTimeAttr::get(
      one.getContext(), one.getLaunch() + rounds * (kRoundNs + work),
      one.getLaunch() + rounds * kRoundNs, rounds * one.getMemory(),
      rounds * one.getMatrix(), rounds * one.getVector(), one.getBlocks());
}

namespace {
struct PredictTimes : public redfuse::impl::PredictTimesBase<PredictTimes> {
  void runOnOperation() override {
    const Chip *chip = getChipOf(getOperation());
    if (!chip)
      return;
    getOperation().walk([&](LaunchOp launch) {
      if (PredictedTimeAttr time = predictTime(launch, *chip))
        launch->setAttr(kPredictedAttr, ofRounds(launch, time));
    });
  }
};
} // namespace
