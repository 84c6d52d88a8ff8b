//===- TeamReduction.cpp - reductions by teams of threads -----------------===//
#include "TeamReduction.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

TeamReduction::Team TeamReduction::chooseTeam(ArrayRef<Axis> into,
                                              ArrayRef<Axis> over) const {
  Team team;
  // In order means one after another.
  if (emitter.getNest().isOrdered)
    return team;
  int64_t results = emitter.capacityOf(into), points = emitter.capacityOf(over);
  bool fastIsKept = emitter.getFastDim() && llvm::any_of(into, [&](Axis a) {
                      return a.dim == *emitter.getFastDim();
                    });
  team.isContiguous = !fastIsKept;
  int64_t most = std::min<int64_t>(emitter.threads, llvm::PowerOf2Ceil(points));
  if (team.isContiguous) {
    // A warp a result needs no barrier; more only where warps would idle.
    if (results * emitter.getWarpSize() >= emitter.threads)
      most = std::min<int64_t>(most, emitter.getWarpSize());
  } else {
    int64_t slots =
        std::min<int64_t>(emitter.threads, llvm::PowerOf2Ceil(results));
    most = std::min<int64_t>(most, emitter.threads / slots);
  }
  team.size = std::max<int64_t>(1, most);
  return team;
}

void TeamReduction::emit() {
  Axes into = emitter.axesOf(emitter.getIntoDims()),
       over = emitter.axesOf(emitter.getNest().over);
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
        points.divide(emitter.thread, by, /*remainder=*/!team.isContiguous);
    team.lane =
        points.divide(emitter.thread, by, /*remainder=*/team.isContiguous);
  }
  std::optional<int64_t> count = points.staticCountOf(into);
  // Without results there is nothing for a round without masks to do.
  if (count == 0)
    return;
  if (count && *count <= slots)
    return emitRound(team, into, over, emitter.constantIndex(0));
  emitFor(b, loc, emitter.constantIndex(0), points.countOf(into),
          emitter.constantIndex(slots), {}, [&](Value base, ValueRange) {
            emitRound(team, into, over, base);
            return SmallVector<Value>();
          });
}

/// One result for each team, from number `base` on.
void TeamReduction::emitRound(const Team &team, ArrayRef<Axis> into,
                              ArrayRef<Axis> over, Value base) {
  int64_t slots = emitter.threads / team.size;
  std::optional<int64_t> known = points.staticCountOf(into);
  Value number = b.createOrFold<arith::AddIOp>(loc, base, team.slot);
  Value limit = points.countOf(over), isActive;
  if (!known || *known % slots != 0) {
    // Teams beyond the end go through the motions, over nothing.
    Value count = points.countOf(into);
    isActive =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number, count);
    Value last = arith::SubIOp::create(b, loc, count, emitter.constantIndex(1));
    number = arith::MinUIOp::create(b, loc, number, last);
    limit = arith::SelectOp::create(b, loc, isActive, limit,
                                    emitter.constantIndex(0));
  }
  Env env = emitter.getOrigin();
  points.bind(env, into, number);
  emitter.emitAvailable(env);

  SmallVector<Value> init = emitter.startReductions(env);
  std::optional<int64_t> count = points.staticCountOf(over);
  if (isActive)
    count = std::nullopt;
  SmallVector<Value> accumulators = points.emitStridedLoop(
      team.lane, limit, count, team.size, /*unrolled=*/16, init,
      [&](Value point, ValueRange state) {
        SmallVector<Value> next(state);
        Env inner = env;
        points.bind(inner, over, point);
        emitter.emitAvailable(inner);
        emitter.accumulate(inner, next);
        emitter.emitPoint(inner);
        return next;
      });

  bool lanesAreReduced =
      emitter.getNest().vectorDim &&
      llvm::is_contained(emitter.getNest().over, *emitter.getNest().vectorDim);
  SmallVector<Value> results;
  ArrayRef<Value> rest = accumulators;
  for (Root *root : emitter.getReduces()) {
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
  for (Root *root : emitter.getReduces())
    for (Value to : root->getResults()) {
      if (const TileBuffer *buffer = emitter.findBuffer(to))
        emitter.storeTile(*buffer, results[next], env);
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
    for (unsigned d = std::min(team.size, emitter.getWarpSize()) / 2; d > 0;
         d /= 2)
      emitter.combineParts(reduce, parts, emitter.words.shuffle(parts, d));
    if (team.size <= emitter.getWarpSize())
      return;
    // One place a warp.
    places = emitter.threads / emitter.getWarpSize();
    count = team.size / emitter.getWarpSize();
    stride = 1;
    first =
        arith::MulIOp::create(b, loc, team.slot, emitter.constantIndex(count));
    emitter.barrier();
    Value inWarp = points.divide(emitter.thread,
                                 emitter.constantIndex(emitter.getWarpSize()),
                                 /*remainder=*/true);
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          inWarp, emitter.constantIndex(0));
    auto branch = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    emitter.words.store(
        parts,
        points.divide(emitter.thread,
                      emitter.constantIndex(emitter.getWarpSize()), false),
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
