//===- MatrixDecisions.cpp - what is decided when memory is laid out -------===//
#include "redfuse/Codegen/GPU/MatrixUnits/MatrixGenerator.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace redfuse;

/// Streamed dims from which on pivots are lazy.
static constexpr int64_t kLazyLength = 512;
/// Elements of products in a thread beside which there is room for predicates and for
/// pivots that lag.
static constexpr int64_t kLazyElements = 160;
/// Steps of sums that blocks share which are asked for while the launch before ends.
static constexpr int64_t kTilesAhead = 4;
/// Bytes that the tiles of a group stream: they should stay in the L2, which also
/// has to take what is written. Where predicates make tiles unequal, larger groups
/// even them out, and a part of the group is in work at a time.
static constexpr int64_t kSharedCacheBytes = 32 << 20,
                         kUnequalBytes = 128 << 20;

/// Where states, scores and predicates are all that a thread of warps that multiply
/// by themselves has registers for.
static bool hasNoRoomForLazy(const MatrixPlan &plan) {
  if (plan.target.hasWarpgroups || !plan.stream)
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

LogicalResult MatrixGenerator::prepare() {
  FailureOr<DimSets> dims = DimSets::compute(plan.step);
  if (failed(dims))
    return failure();
  stepSets = *dims;
  if (plan.finalize) {
    dims = DimSets::compute(
        cast<IndexProgramOpInterface>(plan.finalize.getOperation()));
    if (failed(dims))
      return failure();
    finalSets = *dims;
  }
  emitter = std::make_unique<FragmentEmitter>(b, loc, plan, space);
  emitter->layout.rows = plan.groupRows / 32;
  return success();
}

bool MatrixGenerator::hasUnequalTiles() {
  return plan.stream &&
         !MatrixMasks(b, loc, plan, *stepSets, *emitter).getDecided().empty();
}

FailureOr<MatrixPlan> MatrixGenerator::decide() {
  if (failed(prepare()))
    return failure();
  auto hint = [&](StringRef name) { return space.schedule.getHint(name); };
  bool isOfGroups = plan.target.hasWarpgroups, isUnequal = hasUnequalTiles();
  plan.slots = slots;
  plan.isStaged = staged.has_value();
  if (plan.stream && plan.shares() == 1 && isOfGroups)
    plan.hasQueue = hint("queue") ? hint("queue") == 2 : isUnequal;
  plan.cachedBytes = isUnequal ? kUnequalBytes : kSharedCacheBytes;
  if (hint("cached"))
    plan.cachedBytes = hint("cached") << 20;
  // Where blocks share sums, and where they find a place beside those of the kernel
  // before.
  bool isBeside = plan.isHalf && plan.cluster > 1;
  if (isOfGroups && !(plan.stream && isTiled()))
    plan.ahead = hint("ahead")    ? hint("ahead") - 1
                 : plan.split > 1 ? kTilesAhead
                 : isBeside       ? 1
                                  : 0;
  if (isOfGroups && plan.target.overlapsLaunches)
    plan.startsNextLate =
        hint("late") ? hint("late") == 2 : isBeside || plan.split > 1;
  // Beside a loop over a long sum, ptxas would not see that addresses are uniform;
  // in few steps maxima are seldom close to the last ones yet. Where few rows exist a
  // move takes less than asking for it.
  int64_t length = plan.stream ? space.staticExtents[*plan.stream] : 0;
  bool isLong = ShapedType::isDynamic(length) || length >= kLazyLength;
  if (isTiled())
    plan.lag = 0;
  else if (int64_t lazy = hint("lazy"))
    plan.lag = lazy > 1 ? std::min(lazy, int64_t(2 * kHeadroom)) : 0;
  else if (isLong && !hasLowerRowsOnly() && !hasNoRoomForLazy(plan))
    plan.lag = kLagByRows;
  return plan;
}

bool MatrixGenerator::isAsPlanned(MatrixPlanAttr record,
                                  std::string &why) const {
  if (record.getSlots() != slots)
    why = llvm::formatv("its ring has {0} slots, not {1}", slots,
                        record.getSlots());
  else if (record.getStaged() != staged.has_value())
    why = "its results do not go through shared memory";
  else if ((record.getBlocks() == 2) != plan.isHalf)
    why = "a multiprocessor has no room for two blocks";
  else
    return true;
  return false;
}
