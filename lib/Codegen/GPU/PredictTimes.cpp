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

/// One launch that makes all rounds of the loop that it is in.
static PredictedTimeAttr ofRounds(LaunchOp launch, PredictedTimeAttr one,
                                  int64_t round) {
  auto loop = dyn_cast<scf::ForOp>(launch->getParentOp());
  std::optional<llvm::APInt> trips =
      loop ? loop.getStaticTripCount() : std::nullopt;
  if (!trips || !loop->hasAttr(kPersistentAttr))
    return one;
  int64_t rounds = trips->getSExtValue();
  int64_t work = one.getTotal() - one.getLaunch();
  return PredictedTimeAttr::get(
      one.getContext(), one.getLaunch() + rounds * (round + work),
      one.getLaunch() + rounds * round, rounds * one.getMemory(),
      rounds * one.getMatrix(), rounds * one.getVector(), one.getBlocks());
}

namespace {
struct PredictTimes : public redfuse::impl::PredictTimesBase<PredictTimes> {
  void runOnOperation() override {
    const Chip *chip = getChipOf(getOperation());
    if (!chip)
      return;
    RatesAttr rates = getRates(getOperation(), *chip);
    getOperation().walk([&](LaunchOp launch) {
      if (PredictedTimeAttr time = predictTime(launch, *chip, rates))
        launch->setAttr(kPredictedAttr,
                        ofRounds(launch, time, rates.getRound()));
    });
  }
};
} // namespace
