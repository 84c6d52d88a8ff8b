//===- FoldStep.cpp - a step of a fold ------------------------------------===//
#include "FoldStep.h"

using namespace mlir;
using namespace redfuse;

Fragment FoldStep::carryState(unsigned product, Fragment state) {
  const Fragment &carried = emitter.get(plan.products[product].carried);
  for (size_t e = 0; e < state.values.size(); ++e)
    if (pivots.isAsked(state, e))
      state.values[e] = carried.at(e);
  return state;
}

void FoldStep::yieldOthers(const Carried &before, Carried &after) {
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s) {
    if (after.states.contains(s))
      continue;
    const Fragment &value = emitter.get(getState(plan.fold, s).second);
    Fragment shape = before.states.lookup(s);
    for (size_t e = 0; e < shape.values.size(); ++e)
      shape.values[e] = place.elementFor(value, shape, e);
    after.states[s] = shape;
  }
}
