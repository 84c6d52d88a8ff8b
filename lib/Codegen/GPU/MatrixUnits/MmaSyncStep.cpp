//===- MmaSyncStep.cpp - a step with mma.sync: warps copy, too ------------===//
#include "MmaSyncStep.h"

using namespace mlir;
using namespace redfuse;

Carried MmaSyncStep::emit(Carried before, bool isFirst) {
  Block *body = plan.step.getProgramBody();
  auto states = body->getArguments().drop_front(plan.fold.getInputs().size());
  DenseMap<Value, Fragment> invariants = emitter.values;
  Carried after;
  PipelineState ring = before.ring;
  for (auto [at, i] : llvm::enumerate(of.firstProducts)) {
    Value stage = copies.takeTile(ring, at, position.at, position.steps.end);
    Value product = products.start(i, stage, {}, leftOperands.lookup(i));
    emitter.values[plan.products[i].reduce.getResult(0)] =
        products.asFragment(i, ptx.waitProducts(0, product));
  }
  for (auto [s, arg] : llvm::enumerate(states))
    emitter.values[arg] = before.states[s];
  bool mayStay = !isFirst && pivots.areLazy() && place.isWholeTile;
  Value moves =
      mayStay ? pivots.findMove(pivots.findLimits(before.states)) : Value();
  after.scales = pivots.update(moves, before.states, before.scales,
                               pivots.getMovedStates());
  SmallVector<Value> packed;
  for (unsigned i : of.secondProducts)
    packed.push_back(emitter.packLeft(plan.products[i]));
  // What is computed of a step's matrices comes before the next products.
  for (unsigned i : of.secondProducts) {
    unsigned s = plan.products[i].state;
    // Transport takes the identity to itself.
    after.states[s] =
        isFirst ? before.states[s] : carryState(i, before.states[s]);
  }
  yieldOthers(before, after);
  for (auto [at, i] : llvm::enumerate(of.secondProducts)) {
    Fragment &state = after.states[plan.products[i].state];
    Value stage = copies.takeTile(ring, of.firstProducts.size() + at,
                                  position.at, position.steps.end);
    Value sum = products.start(i, stage, state.values, packed[at]);
    state.values = ptx.waitProducts(0, sum, packed[at]);
  }
  after.ring = ring;
  emitter.values = std::move(invariants);
  emitter.exponentials.clear();
  return after;
}
