//===- StateWorkspace.cpp - states of splits in global memory -------------===//
#include "StateWorkspace.h"

#include "redfuse/Codegen/GPU/Common/BlockCounters.h"
#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

using namespace mlir;
using namespace redfuse;

void StateWorkspace::store(const DenseMap<unsigned, Fragment> &states) {
  SmallVector<AffineMap> maps = plan.fold.getIndexingMapsArray();
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s)
    epilogue.storeValue(view(of.block.inGroups, s),
                        maps[plan.fold.getInputs().size() + s],
                        states.lookup(s));
}

/// One thread orders memory for those that meet it at barriers.
Value StateWorkspace::count() {
  int64_t threads = 128 * plan.consumers;
  ptx.synchronize(1, threads);
  Value word = storage.controlWord();
  Value isFirst =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, of.ids.thread,
                            ptx.i32(32 * plan.target.loaderWarps()));
  when(isFirst, [&] {
    Value number = arith::MulIOp::create(
        b, loc, of.block.tile, index(plan.cluster * plan.multicast()));
    number = arith::AddIOp::create(b, loc, number,
                                   plan.multicast() > 1
                                       ? toIndex(of.block.rankInCluster)
                                       : of.block.inCluster);
    Value before =
        countInOrder(b, loc, of.arguments.counters, number, plan.clusters());
    ptx.storeWord(word, before);
  });
  ptx.synchronize(1, threads);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                               ptx.loadWord(word),
                               ptx.i32(plan.clusters() - 1));
}

Value StateWorkspace::view(Value cluster, unsigned state) {
  auto type = cast<RankedTensorType>(plan.fold->getResult(state).getType());
  Value offset = arith::AddIOp::create(
      b, loc,
      arith::MulIOp::create(b, loc, cluster,
                            index(layoutOfStates.storedBytes())),
      index(layoutOfStates.storedOffset(state)));
  return memref::ViewOp::create(
      b, loc, MemRefType::get(type.getShape(), type.getElementType()),
      of.arguments.workspace, offset, ValueRange());
}

/// Whose loads are under way together.
int64_t StateWorkspace::clustersAtATime() {
  int64_t held = 0;
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s)
    held += place.sizeOf(merge.shapeOf(s));
  int64_t most = plan.consumers == 1 ? kLoadedByFew : kLoadedValues;
  for (int64_t n = 16; n > 1; --n)
    if (plan.clusters() % n == 0 && n * held <= most)
      return n;
  return 1;
}

SmallVector<StateMerge::States> StateWorkspace::loadSome(Value first,
                                                         int64_t count) {
  SmallVector<AffineMap> maps = plan.fold.getIndexingMapsArray();
  unsigned inputs = plan.fold.getInputs().size();
  SmallVector<StateMerge::States> parts(count);
  for (int64_t k = 0; k < count; ++k)
    for (unsigned s = 0; s < plan.fold.getNumStates(); ++s) {
      AffineMap map = simplifyForExtents(maps[inputs + s], space.staticExtents);
      Value at = arith::AddIOp::create(b, loc, first, index(k));
      parts[k].push_back(memory.load(view(at, s), map, merge.shapeOf(s)));
    }
  return parts;
}

DenseMap<unsigned, Fragment> StateWorkspace::load() {
  int64_t clusters = plan.clusters(), some = clustersAtATime();
  StateMerge::States total = merge.merge(loadSome(index(0), some));
  SmallVector<Value> list;
  for (Fragment &state : total)
    llvm::append_range(list, state.values);
  auto take = [&](ValueRange values) {
    for (Fragment &state : total) {
      size_t n = state.values.size();
      state.values.assign(values.begin(), values.begin() + n);
      values = values.drop_front(n);
    }
  };
  if (some < clusters)
    take(emitFor(b, loc, index(some), index(clusters), index(some), list,
                 [&](Value split, ValueRange carried) {
                   take(carried);
                   SmallVector<StateMerge::States> parts =
                       loadSome(split, some);
                   StateMerge::States next =
                       merge.merge({total, merge.merge(std::move(parts))});
                   SmallVector<Value> values;
                   for (Fragment &state : next)
                     llvm::append_range(values, state.values);
                   return values;
                 }));
  DenseMap<unsigned, Fragment> result;
  for (auto [s, state] : llvm::enumerate(total))
    result[s] = std::move(state);
  return result;
}
