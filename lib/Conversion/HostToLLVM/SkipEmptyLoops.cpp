//===- SkipEmptyLoops.cpp - redfuse-skip-empty-loops ----------------------===//
//
// A tensor of 2^32 x 0 elements has none, and a loop over its rows would still count
// them all. A loop whose body is one other loop has no round where that has none. LLVM
// finds as much for some, when it optimises.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace redfuse {
#define GEN_PASS_DEF_SKIPEMPTYLOOPS
#include "redfuse/Conversion/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

/// The loop that is all that a round of `outer` does: where it has no round, the round
/// of `outer` changes nothing.
static scf::ForOp onlyLoopIn(scf::ForOp outer) {
  scf::ForOp inner;
  for (Operation &op : outer.getBody()->without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (loop && !inner && !loop.getUnsignedCmp())
      inner = loop;
    else if (loop || !isMemoryEffectFree(&op))
      return {};
  }
  if (!inner || !llvm::equal(outer.getYieldedValues(), inner.getResults()) ||
      !llvm::equal(outer.getRegionIterArgs(), inner.getInitArgs()))
    return {};
  return inner;
}

/// The loops inside `outer` without which it does nothing, and whose bounds are known
/// in front of it. Those that are known to have rounds are left out.
static SmallVector<scf::ForOp> loopsThatDecide(scf::ForOp outer) {
  SmallVector<scf::ForOp> loops;
  for (scf::ForOp inner = onlyLoopIn(outer); inner; inner = onlyLoopIn(inner)) {
    std::optional<int64_t> from = getConstantIntValue(inner.getLowerBound()),
                           to = getConstantIntValue(inner.getUpperBound());
    if (!(from && to && *from < *to) &&
        outer.isDefinedOutsideOfLoop(inner.getLowerBound()) &&
        outer.isDefinedOutsideOfLoop(inner.getUpperBound()))
      loops.push_back(inner);
  }
  return loops;
}

namespace {
struct SkipEmptyLoops
    : public redfuse::impl::SkipEmptyLoopsBase<SkipEmptyLoops> {
  void runOnOperation() override {
    // Bounds are looked at as they were.
    SmallVector<std::pair<scf::ForOp, Value>> ends;
    getOperation()->walk([&](scf::ForOp outer) {
      Value condition;
      OpBuilder b(outer);
      Location loc = outer.getLoc();
      for (scf::ForOp inner : loopsThatDecide(outer)) {
        Value hasRounds =
            arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                  inner.getLowerBound(), inner.getUpperBound());
        condition = condition
                        ? arith::AndIOp::create(b, loc, condition, hasRounds)
                              .getResult()
                        : hasRounds;
      }
      if (condition)
        ends.emplace_back(outer, arith::SelectOp::create(
                                     b, loc, condition, outer.getUpperBound(),
                                     outer.getLowerBound()));
    });
    for (auto [outer, end] : ends)
      outer.setUpperBound(end);
  }
};
} // namespace
