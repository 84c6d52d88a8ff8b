//===- TeamReduction.cpp - reductions by teams of threads -----------------===//
#include "TeamReduction.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

TeamReduction::Team TeamReduction::chooseTeam(ArrayRef<Axis> into,
                                              ArrayRef<Axis> over) const {
  Team team;
  // In order means one after another.
  if (emitter.nest->isOrdered)
    return team;
  int64_t results = emitter.capacityOf(into), points = emitter.capacityOf(over);
  bool fastIsKept = emitter.fastDim && llvm::any_of(into, [&](Axis a) {
                      return a.dim == *emitter.fastDim;
                    });
  team.isContiguous = !fastIsKept;
  int64_t most = std::min<int64_t>(emitter.threads, llvm::PowerOf2Ceil(points));
  if (team.isContiguous) {
    // A warp a result needs no barrier; more only where warps would idle.
    if (results * emitter.warpSize >= emitter.threads)
      most = std::min<int64_t>(most, emitter.warpSize);
  } else {
    int64_t slots =
        std::min<int64_t>(emitter.threads, llvm::PowerOf2Ceil(results));
    most = std::min<int64_t>(most, emitter.threads / slots);
  }
  team.size = std::max<int64_t>(1, most);
  return team;
}

void TeamReduction::emit() {
  Axes into = emitter.axesOf(emitter.intoDims),
       over = emitter.axesOf(emitter.nest->over);
  Team team = chooseTeam(into, over);
  unsigned slots = emitter.threads / team.size;
  if (team.size == emitter.threads) {
    team.slot = emitter.constantIndex(0);
    team.lane = emitter.thread;
  } else if (team.size == 1) {
    team.slot = emitter.thread;
    team.lane = emitter.constantIndex(0);
  } else {
    Value by = emitter.constantIndex(team.isContiguous ? team.size : slots);
    team.slot =
        emitter.divide(emitter.thread, by, /*remainder=*/!team.isContiguous);
    team.lane =
        emitter.divide(emitter.thread, by, /*remainder=*/team.isContiguous);
  }
  std::optional<int64_t> count = emitter.staticCountOf(into);
  // Without results there is nothing for a round without masks to do.
  if (count == 0)
    return;
  if (count && *count <= slots)
    return emitRound(team, into, over, emitter.constantIndex(0));
  emitFor(b, loc, emitter.constantIndex(0), emitter.countOf(into),
          emitter.constantIndex(slots), {}, [&](Value base, ValueRange) {
            emitRound(team, into, over, base);
            return SmallVector<Value>();
          });
}

/// One result for each team, from number `base` on.
void TeamReduction::emitRound(const Team &team, ArrayRef<Axis> into,
                              ArrayRef<Axis> over, Value base) {
  int64_t slots = emitter.threads / team.size;
  std::optional<int64_t> known = emitter.staticCountOf(into);
  Value number = b.createOrFold<arith::AddIOp>(loc, base, team.slot);
  Value limit = emitter.countOf(over), isActive;
  if (!known || *known % slots != 0) {
    // Teams beyond the end go through the motions, over nothing.
    Value count = emitter.countOf(into);
    isActive =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number, count);
    Value last = arith::SubIOp::create(b, loc, count, emitter.constantIndex(1));
    number = arith::MinUIOp::create(b, loc, number, last);
    limit = arith::SelectOp::create(b, loc, isActive, limit,
                                    emitter.constantIndex(0));
  }
  Env env;
  env.position.assign(emitter.dims.size(), Value());
  emitter.bindAxes(env, into, number);
  emitter.emitAvailable(env);

  SmallVector<Value> init = emitter.startReductions(env);
  std::optional<int64_t> points = emitter.staticCountOf(over);
  if (isActive)
    points = std::nullopt;
  SmallVector<Value> accumulators = emitter.emitStridedLoop(
      team.lane, limit, points, team.size, /*unrolled=*/16, init,
      [&](Value point, ValueRange state) {
        SmallVector<Value> next(state);
        Env inner = env;
        emitter.bindAxes(inner, over, point);
        emitter.emitAvailable(inner);
        emitter.accumulate(inner, next);
        emitter.emitPoint(inner);
        return next;
      });

  bool lanesAreReduced =
      emitter.nest->vectorDim &&
      llvm::is_contained(emitter.nest->over, *emitter.nest->vectorDim);
  SmallVector<Value> results;
  ArrayRef<Value> rest = accumulators;
  for (Root *root : emitter.reduces) {
    ReduceOp reduce = root->reduce;
    Parts parts(rest.take_front(reduce.getNumOperands()));
    rest = rest.drop_front(reduce.getNumOperands());
    if (lanesAreReduced)
      emitter.foldLanes(reduce, parts);
    foldTeam(reduce, team, parts);
    llvm::append_range(results, parts);
  }
  // One thread of the team stores.
  OpBuilder::InsertionGuard guard(b);
  Value stores = isActive;
  if (team.size > 1) {
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          team.lane, emitter.constantIndex(0));
    stores = stores ? Value(arith::AndIOp::create(b, loc, stores, isFirst))
                    : isFirst;
  }
  if (stores) {
    auto branch = scf::IfOp::create(b, loc, stores, /*withElse=*/false);
    b.setInsertionPoint(branch.thenYield());
  }
  unsigned next = 0;
  for (Root *root : emitter.reduces)
    for (Value to : root->getResults()) {
      auto buffer = emitter.buffers.find(to);
      if (buffer != emitter.buffers.end())
        emitter.storeTile(buffer->second, results[next], env);
      ++next;
    }
}

/// Combines what the threads of each team have; afterwards all of them have it.
void TeamReduction::foldTeam(ReduceOp reduce, const Team &team, Parts &parts) {
  if (team.size == 1)
    return;
  // What there is to combine at the end: `count` places from `first`, `stride`
  // apart.
  int64_t places, count, stride;
  Value first;
  SmallVector<Type> types;
  for (Value part : parts)
    types.push_back(part.getType());
  if (team.isContiguous) {
    for (unsigned d = std::min(team.size, emitter.warpSize) / 2; d > 0; d /= 2)
      emitter.combineParts(reduce, parts, emitter.words.shuffle(parts, d));
    if (team.size <= emitter.warpSize)
      return;
    // One place a warp.
    places = emitter.threads / emitter.warpSize;
    count = team.size / emitter.warpSize;
    stride = 1;
    first =
        arith::MulIOp::create(b, loc, team.slot, emitter.constantIndex(count));
    emitter.barrier();
    Value inWarp =
        emitter.divide(emitter.thread, emitter.constantIndex(emitter.warpSize),
                       /*remainder=*/true);
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          inWarp, emitter.constantIndex(0));
    auto branch = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    emitter.words.store(parts,
                        emitter.divide(emitter.thread,
                                       emitter.constantIndex(emitter.warpSize),
                                       false),
                        places);
  } else {
    places = emitter.threads;
    count = team.size;
    stride = emitter.threads / team.size;
    first = team.slot;
    emitter.barrier();
    emitter.words.store(parts, emitter.thread, places);
  }
  emitter.barrier();
  parts = emitter.words.load(types, first, places);
  if (count <= 8) {
    for (int64_t i = 1; i < count; ++i) {
      Value at = arith::AddIOp::create(b, loc, first,
                                       emitter.constantIndex(i * stride));
      emitter.combineParts(reduce, parts,
                           emitter.words.load(types, at, places));
    }
    return;
  }
  parts = emitFor(
      b, loc, emitter.constantIndex(1), emitter.constantIndex(count),
      emitter.constantIndex(1), parts, [&](Value i, ValueRange state) {
        Parts next(state);
        Value at = arith::AddIOp::create(
            b, loc, first,
            arith::MulIOp::create(b, loc, i, emitter.constantIndex(stride)));
        emitter.combineParts(reduce, next,
                             emitter.words.load(types, at, places));
        return next;
      });
}
