//===- WgmmaStep.cpp - a step with wgmma ----------------------------------===//
#include "WgmmaStep.h"

using namespace mlir;
using namespace redfuse;

/// Values that the states are multiplied by, made while their products run.
void WgmmaStep::emitTransports(ValueRange states) {
  Block *body = plan.step.getProgramBody();
  for (unsigned i : of.secondProducts) {
    Value wide = states[plan.products[i].state];
    SmallVector<Value> work{plan.products[i].carried};
    llvm::DenseSet<Value> seen, needsWide;
    // Body order: a value after its operands.
    for (Operation &inner : body->without_terminator())
      for (Value operand : inner.getOperands())
        if (operand == wide || needsWide.contains(operand))
          needsWide.insert(inner.getResult(0));
    while (!work.empty()) {
      Value v = work.pop_back_val();
      if (!seen.insert(v).second || v == wide || v.getParentBlock() != body)
        continue;
      if (!needsWide.contains(v))
        emitter.get(v);
      else
        llvm::append_range(work, v.getDefiningOp()->getOperands());
    }
  }
}

Carried WgmmaStep::emit(Carried before, bool isFirst) {
  Block *body = plan.step.getProgramBody();
  auto states = body->getArguments().drop_front(plan.fold.getInputs().size());
  DenseMap<Value, Fragment> invariants = emitter.values;
  // In the few tiles with predicates maxima are made in any case: what that takes of
  // registers is less than both.
  bool mayStay = !isFirst && pivots.areLazy() && place.isWholeTile;
  Carried after;
  PipelineState ring = before.ring;
  bool tiled = plan.hasTiledSums();

  // Products of this step, and those of the last one onto the states.
  SmallVector<Value> firstStages, secondStages;
  DenseMap<unsigned, SmallVector<Value>> made, sums;
  DenseMap<unsigned, Value> runningFirst, runningSecond;
  auto startFirst = [&]() {
    for (unsigned i : of.firstProducts) {
      if (layout.products[i].left) {
        made[i] = products.multiplyTiled(i, ring, secondStages);
        continue;
      }
      pipeline.consumerWait(ring);
      runningFirst[i] = products.start(i, ring.stage, {}, leftOperands[i]);
      firstStages.push_back(ring.stage);
      ring = pipeline.advance(ring);
    }
  };
  auto startSecond = [&]() {
    if (isFirst)
      return;
    for (auto [at, i] : llvm::enumerate(of.secondProducts)) {
      pipeline.consumerWait(ring);
      runningSecond[i] = products.start(
          i, ring.stage, before.states[plan.products[i].state].values,
          before.packed[at]);
      secondStages.push_back(ring.stage);
      ring = pipeline.advance(ring);
    }
  };
  bool takesTurns = !isFirst && pingPong.isUsed();
  if (takesTurns)
    pingPong.takeTurn();
  if (tiled) {
    startSecond();
    startFirst();
  } else {
    startFirst();
    startSecond();
  }
  after.ring = ring;
  auto waitFor = [&](ArrayRef<unsigned> numbers,
                     const DenseMap<unsigned, Value> &running,
                     DenseMap<unsigned, SmallVector<Value>> &results,
                     int64_t pending, ArrayRef<Value> alive) {
    SmallVector<unsigned> which;
    SmallVector<Value> accumulators;
    for (unsigned i : numbers)
      if (Value v = running.lookup(i)) {
        which.push_back(i);
        accumulators.push_back(v);
      }
    SmallVector<Value> all = ptx.waitProducts(pending, accumulators, alive);
    ArrayRef<Value> rest = all;
    for (auto [i, v] : llvm::zip_equal(which, accumulators)) {
      size_t n = cast<tile::AccumulatorsType>(v.getType()).getSize();
      results[i].assign(rest.begin(), rest.begin() + n);
      rest = rest.drop_front(n);
    }
  };
  for (auto [s, arg] : llvm::enumerate(states)) {
    bool isWide = llvm::any_of(of.secondProducts, [&](unsigned i) {
      return plan.products[i].state == s;
    });
    if (!isWide)
      emitter.values[arg] = before.states[s];
  }
  SmallVector<Fragment> limits;
  if (mayStay)
    limits = pivots.findLimits(before.states);
  if (!firstStages.empty()) {
    waitFor(of.firstProducts, runningFirst, made,
            isFirst ? 0 : of.secondProducts.size(), {});
    if (takesTurns)
      pingPong.passTurn();
    for (Value stage : firstStages)
      pipeline.consumerRelease(stage);
  }
  for (unsigned i : of.firstProducts)
    emitter.values[plan.products[i].reduce.getResult(0)] =
        products.asFragment(i, made[i]);
  Value moves;
  if (mayStay)
    moves = pivots.findMove(limits);
  else
    emitTransports(states);
  auto takeSums = [&] {
    if (isFirst)
      return;
    waitFor(of.secondProducts, runningSecond, sums, 0, before.packed);
    for (Value stage : secondStages)
      pipeline.consumerRelease(stage);
    for (unsigned i : of.secondProducts) {
      unsigned s = plan.products[i].state;
      after.states[s].values = sums[i];
      emitter.values[states[s]] = after.states[s];
    }
  };
  auto carryAll = [&] {
    for (unsigned i :
         isFirst ? ArrayRef<unsigned>() : ArrayRef(of.secondProducts)) {
      Fragment &state = after.states[plan.products[i].state];
      state = carryState(i, state);
    }
  };
  // Transport takes the identity to itself.
  for (unsigned i : of.secondProducts)
    after.states[plan.products[i].state] =
        before.states.lookup(plan.products[i].state);
  // One warpgroup computes while its own products run: what they are added to goes
  // along with pivots after them. Between several loops ptxas would copy operands
  // while products run, and so serialise them. Where states go through global memory
  // it gains nothing.
  bool areSumsLate = moves && plan.consumers == 1 && position.hasOneLoop &&
                     plan.clusters() == 1;
  SmallVector<MovedState> along, late;
  for (const MovedState &moved : pivots.getMovedStates())
    (areSumsLate && after.states.contains(moved.state) ? late : along)
        .push_back(moved);
  if (!areSumsLate)
    takeSums();
  after.scales = pivots.update(moves, before.states, before.scales, along);
  if (!areSumsLate)
    carryAll();
  // Sums before the packed operands of the same values: ptxas then adds and packs
  // as the exponentials come.
  yieldOthers(before, after);
  for (unsigned i : of.secondProducts)
    after.packed.push_back(emitter.packLeft(plan.products[i]));
  if (areSumsLate) {
    // ptxas would wait for the products first.
    after.packed = ptx.settle(after.packed);
    takeSums();
    pivots.moveStates(moves, late);
    carryAll();
  }
  emitter.values = std::move(invariants);
  emitter.exponentials.clear();
  return after;
}
