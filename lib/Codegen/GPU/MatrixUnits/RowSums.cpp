//===- RowSums.cpp - sums of rows, kept by thread -------------------------===//
#include "RowSums.h"

using namespace mlir;
using namespace redfuse;

/// The reduction to rows that `v` is, if nothing else uses it.
static ReduceOp getOwnReduction(Value v, Reducer reducer) {
  auto reduce = v.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getReducer() != reducer ||
      reduce.getNumOperands() != 1 || !v.hasOneUse())
    return {};
  return reduce;
}

void RowSums::find() {
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s) {
    auto [state, next] = getState(plan.fold, s);
    auto add = next.getDefiningOp<arith::AddFOp>();
    auto zero = dyn_cast<FloatAttr>(plan.fold.getIdentities()[s]);
    if (!add || !next.hasOneUse() || !state.hasOneUse() || !zero ||
        !zero.getValue().isZero() ||
        place.shapeOf((*of.stepSets)[next]).kind != Fragment::Kind::Row)
      continue;
    for (bool isLeft : {true, false}) {
      Value sum = isLeft ? add.getLhs() : add.getRhs();
      Value carried = isLeft ? add.getRhs() : add.getLhs();
      ReduceOp reduce = getOwnReduction(sum, Reducer::Add);
      auto mul = carried.getDefiningOp<arith::MulFOp>();
      bool isState = carried == state ||
                     (mul && carried.hasOneUse() &&
                      (mul.getLhs() == state || mul.getRhs() == state));
      if (!reduce || !isState ||
          llvm::any_of(plan.products, [&](const MatrixProduct &product) {
            return product.reduce == reduce;
          }))
        continue;
      sums.push_back({s, reduce});
      emitter.reducer.endInThread(reduce);
      break;
    }
  }
}

void RowSums::complete(DenseMap<unsigned, Fragment> &states) {
  for (auto [s, reduce] : sums)
    states[s] = emitter.reducer.acrossLanes(reduce, states[s]);
}
