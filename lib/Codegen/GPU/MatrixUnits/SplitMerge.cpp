//===- SplitMerge.cpp - blocks with a split of the streamed dim each ------===//
#include "SplitMerge.h"

using namespace mlir;
using namespace redfuse;

void SplitMerge::selectStep() {
  emitter.values.clear();
  emitter.select(plan.step, *of.stepSets);
}

void SplitMerge::inBranch(Value condition, function_ref<void()> body) {
  when(condition, [&] {
    selectStep();
    body();
  });
}

void SplitMerge::run(const DenseMap<unsigned, Fragment> &own) {
  FragmentLayout before = place.layout;
  if (plan.cluster == 1)
    mergeInWorkspace(own);
  else
    mergeInClusters(own);
  place.layout = before;
}

void SplitMerge::mergeInWorkspace(const DenseMap<unsigned, Fragment> &own) {
  workspace.store(own);
  inBranch(workspace.count(), [&] {
    placement.takeRows(states.layoutOfTile(), Value());
    epilogue.finalize(workspace.load());
  });
}

void SplitMerge::mergeInClusters(const DenseMap<unsigned, Fragment> &own) {
  exchange.send(own);
  int64_t rows = states.rowsOfMerge();
  FragmentLayout ofMerge = states.layoutOfMerge();
  int64_t ofWarp = 32 / ofMerge.lanes;
  Value number = toWord(of.block.inCluster);
  selectStep();
  Value row = placement.takeRows(ofMerge, Value());
  // Other warps have no rows.
  Value hasRows =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, of.ids.warp,
                            ptx.i32(4 + rows / ofWarp));
  placement.takeRows(ofMerge, ptx.mul(number, rows));
  bool isAll = plan.clusters() == 1;
  inBranch(hasRows, [&] {
    ptx.wait(storage.receivedBarrier(), ptx.i32(0));
    SmallVector<StateMerge::States> parts;
    for (int64_t i = 0; i < plan.cluster; ++i)
      parts.push_back(exchange.load(row, i));
    DenseMap<unsigned, Fragment> merged;
    for (auto [s, state] : llvm::enumerate(stateMerge.merge(std::move(parts))))
      merged[s] = state;
    if (isAll)
      epilogue.finalize(merged);
    else
      workspace.store(merged);
  });
  if (!isAll)
    inBranch(workspace.count(), [&] {
      inBranch(hasRows, [&] { epilogue.finalize(workspace.load()); });
    });
}
