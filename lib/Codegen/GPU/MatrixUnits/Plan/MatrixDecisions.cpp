//===- MatrixDecisions.cpp - what is decided when memory is laid out ------===//
#include "MatrixPlanner.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Pivots.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

using namespace mlir;
using namespace redfuse;

/// Where states, scores and predicates are all that a thread of a kernel with mma.sync
/// by themselves has registers for.
static bool hasNoRoomForLazy(const MatrixPlan &plan) {
  if (plan.target.hasWgmma || !plan.stream)
    return false;
  int64_t elements = 0;
  for (const MatrixProduct &product : plan.products)
    elements += plan.elementsOf(plan.widths.lookup(product.n));
  IndexProgramOpInterface step = plan.step;
  return elements > kLazyElements &&
         llvm::any_of(step.getProgramBody()->getOps<arith::SelectOp>(),
                      [](arith::SelectOp select) {
                        return isa_and_nonnull<arith::CmpIOp, arith::AndIOp,
                                               arith::OrIOp>(
                            select.getCondition().getDefiningOp());
                      });
}

/// Who gets which tile of the grid, and in which order.
static void decideOrder(MatrixPlan &plan, const Hints &hints, bool isUnequal,
                        const KernelSpace &space) {
  if (plan.stream && plan.shares() == 1 && plan.target.hasWgmma)
    plan.hasDynamicScheduler =
        hints.scheduler.value_or(isUnequal ? TileScheduling::Dynamic
                                           : TileScheduling::Static) ==
        TileScheduling::Dynamic;
  int64_t length = plan.stream ? space.staticExtents[*plan.stream] : 0;
  bool isShort = length > 0 && length <= kShortStream; // dynamic is negative
  plan.cachedBytes = isUnequal ? kUnequalBytes
                     : isShort ? kShortBytes
                               : kSharedCacheBytes;
  if (plan.foldsTiledSums() && plan.splits > 1)
    plan.cachedBytes = kTiledFoldBytes;
  if (hints.cached)
    plan.cachedBytes = *hints.cached << 20;
}

/// What is done beside the launches before and behind: more where blocks share sums,
/// and where they find a place beside those of the kernel before.
static void decideOverlap(MatrixPlan &plan, const Hints &hints) {
  if (!plan.target.hasWgmma)
    return;
  bool isBeside = plan.isHalf && plan.cluster > 1;
  if (!(plan.stream && plan.hasTiledSums()))
    plan.ahead = hints.ahead.value_or(plan.sumSplits > 1 ? kTilesAhead
                                      : isBeside         ? 1
                                                         : 0);
  if (plan.target.overlapsLaunches)
    plan.startsNextLate = hints.late.value_or(isBeside || plan.sumSplits > 1);
}

/// Beside a loop over a long sum, ptxas would not see that addresses are uniform; in
/// few steps maxima are seldom close to the last ones yet. Where few rows exist a
/// move takes less than asking for it.
static void decideThreshold(MatrixPlan &plan, const KernelSpace &space) {
  int64_t length = plan.stream ? space.staticExtents[*plan.stream] : 0;
  bool isLong = ShapedType::isDynamic(length) || length >= kLazyLength;
  if (plan.hasTiledSums())
    plan.threshold = 0;
  else if (std::optional<int64_t> threshold = hintsOf(space.schedule).threshold)
    plan.threshold = std::min(*threshold, int64_t(2 * kHeadroom));
  else if (isLong && !plan.hasLowerRowsOnly(space) && !hasNoRoomForLazy(plan))
    plan.threshold = kThresholdByRows;
}

void redfuse::decideRest(MatrixPlan &plan, const KernelSpace &space,
                         const SharedLayout &layout, bool isUnequal) {
  plan.stages = layout.stages;
  plan.isStaged = layout.staged.has_value();
  plan.isHalf = layout.isHalf;
  Hints hints = hintsOf(space.schedule);
  decideOrder(plan, hints, isUnequal, space);
  decideOverlap(plan, hints);
  decideThreshold(plan, space);
}
