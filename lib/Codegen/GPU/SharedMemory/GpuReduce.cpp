//===- GpuReduce.cpp - reductions by teams of threads ---------------------===//
#include "redfuse/Codegen/GPU/SharedMemory/GpuEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Merges
//===----------------------------------------------------------------------===//

void GpuEmitter::barrier() { gpu::BarrierOp::create(b, loc); }

void GpuEmitter::combineParts(ReduceOp reduce, Parts &parts,
                              ArrayRef<Value> other) {
  if (isPair(reduce.getReducer()))
    combinePair(reduce.getReducer(), parts[0], parts[1], other[0], other[1],
                /*isOrdered=*/false);
  else
    parts = combineStates(reduce, parts, other);
}

/// A scalar of the lanes of one vector, as a tree.
void GpuEmitter::foldLanes(ReduceOp reduce, Parts &parts) {
  SmallVector<Parts> lanesOf(
      cast<VectorType>(parts[0].getType()).getNumElements());
  for (Value part : parts)
    for (auto [i, element] : llvm::enumerate(scalarsOf(b, loc, part)))
      lanesOf[i].push_back(element);
  while (lanesOf.size() > 1) {
    unsigned half = lanesOf.size() / 2;
    for (unsigned i = 0; i < half; ++i)
      combineParts(reduce, lanesOf[i], lanesOf[i + half]);
    lanesOf.resize(half);
  }
  parts = lanesOf.front();
}

/// Combines what the threads of each team have; afterwards all of them have it.
void GpuEmitter::foldTeam(ReduceOp reduce, const Team &team, Parts &parts) {
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
    for (unsigned d = std::min(team.size, warpSize) / 2; d > 0; d /= 2)
      combineParts(reduce, parts, words.shuffle(parts, d));
    if (team.size <= warpSize)
      return;
    // One place a warp.
    places = threads / warpSize;
    count = team.size / warpSize;
    stride = 1;
    first = arith::MulIOp::create(b, loc, team.slot, constantIndex(count));
    barrier();
    Value inWarp = divide(thread, constantIndex(warpSize), /*remainder=*/true);
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          inWarp, constantIndex(0));
    auto branch = scf::IfOp::create(b, loc, isFirst, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    words.store(parts, divide(thread, constantIndex(warpSize), false), places);
  } else {
    places = threads;
    count = team.size;
    stride = threads / team.size;
    first = team.slot;
    barrier();
    words.store(parts, thread, places);
  }
  barrier();
  parts = words.load(types, first, places);
  if (count <= 8) {
    for (int64_t i = 1; i < count; ++i) {
      Value at =
          arith::AddIOp::create(b, loc, first, constantIndex(i * stride));
      combineParts(reduce, parts, words.load(types, at, places));
    }
    return;
  }
  parts =
      emitFor(b, loc, constantIndex(1), constantIndex(count), constantIndex(1),
              parts, [&](Value i, ValueRange state) {
                Parts next(state);
                Value at = arith::AddIOp::create(
                    b, loc, first,
                    arith::MulIOp::create(b, loc, i, constantIndex(stride)));
                combineParts(reduce, next, words.load(types, at, places));
                return next;
              });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

GpuEmitter::Team GpuEmitter::chooseTeam(ArrayRef<Axis> into,
                                        ArrayRef<Axis> over) const {
  Team team;
  // In order means one after another.
  if (nest->isOrdered)
    return team;
  int64_t results = capacityOf(into), points = capacityOf(over);
  bool fastIsKept =
      fastDim && llvm::any_of(into, [&](Axis a) { return a.dim == *fastDim; });
  team.isContiguous = !fastIsKept;
  int64_t most = std::min<int64_t>(threads, llvm::PowerOf2Ceil(points));
  if (team.isContiguous) {
    // A warp a result needs no barrier; more only where warps would idle.
    if (results * warpSize >= threads)
      most = std::min<int64_t>(most, warpSize);
  } else {
    int64_t slots = std::min<int64_t>(threads, llvm::PowerOf2Ceil(results));
    most = std::min<int64_t>(most, threads / slots);
  }
  team.size = std::max<int64_t>(1, most);
  return team;
}

void GpuEmitter::emitReduction() {
  Axes into = axesOf(intoDims), over = axesOf(nest->over);
  Team team = chooseTeam(into, over);
  unsigned slots = threads / team.size;
  if (team.size == threads) {
    team.slot = constantIndex(0);
    team.lane = thread;
  } else if (team.size == 1) {
    team.slot = thread;
    team.lane = constantIndex(0);
  } else {
    Value by = constantIndex(team.isContiguous ? team.size : slots);
    team.slot = divide(thread, by, /*remainder=*/!team.isContiguous);
    team.lane = divide(thread, by, /*remainder=*/team.isContiguous);
  }
  std::optional<int64_t> count = staticCountOf(into);
  // Without results there is nothing for a round without masks to do.
  if (count == 0)
    return;
  if (count && *count <= slots)
    return emitRound(team, into, over, constantIndex(0));
  emitFor(b, loc, constantIndex(0), countOf(into), constantIndex(slots), {},
          [&](Value base, ValueRange) {
            emitRound(team, into, over, base);
            return SmallVector<Value>();
          });
}

/// One result for each team, from number `base` on.
void GpuEmitter::emitRound(const Team &team, ArrayRef<Axis> into,
                           ArrayRef<Axis> over, Value base) {
  int64_t slots = threads / team.size;
  std::optional<int64_t> known = staticCountOf(into);
  Value number = b.createOrFold<arith::AddIOp>(loc, base, team.slot);
  Value limit = countOf(over), isActive;
  if (!known || *known % slots != 0) {
    // Teams beyond the end go through the motions, over nothing.
    Value count = countOf(into);
    isActive =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number, count);
    Value last = arith::SubIOp::create(b, loc, count, constantIndex(1));
    number = arith::MinUIOp::create(b, loc, number, last);
    limit = arith::SelectOp::create(b, loc, isActive, limit, constantIndex(0));
  }
  Env env;
  env.position.assign(dims.size(), Value());
  bindAxes(env, into, number);
  emitAvailable(env);

  SmallVector<Value> init = startReductions(env);
  std::optional<int64_t> points = staticCountOf(over);
  if (isActive)
    points = std::nullopt;
  SmallVector<Value> accumulators =
      emitStridedLoop(team.lane, limit, points, team.size, /*unrolled=*/16,
                      init, [&](Value point, ValueRange state) {
                        SmallVector<Value> next(state);
                        Env inner = env;
                        bindAxes(inner, over, point);
                        emitAvailable(inner);
                        accumulate(inner, next);
                        emitPoint(inner);
                        return next;
                      });

  bool lanesAreReduced =
      nest->vectorDim && llvm::is_contained(nest->over, *nest->vectorDim);
  SmallVector<Value> results;
  ArrayRef<Value> rest = accumulators;
  for (Root *root : reduces) {
    ReduceOp reduce = root->reduce;
    Parts parts(rest.take_front(reduce.getNumOperands()));
    rest = rest.drop_front(reduce.getNumOperands());
    if (lanesAreReduced)
      foldLanes(reduce, parts);
    foldTeam(reduce, team, parts);
    llvm::append_range(results, parts);
  }
  // One thread of the team stores.
  OpBuilder::InsertionGuard guard(b);
  Value stores = isActive;
  if (team.size > 1) {
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          team.lane, constantIndex(0));
    stores = stores ? Value(arith::AndIOp::create(b, loc, stores, isFirst))
                    : isFirst;
  }
  if (stores) {
    auto branch = scf::IfOp::create(b, loc, stores, /*withElse=*/false);
    b.setInsertionPoint(branch.thenYield());
  }
  unsigned next = 0;
  for (Root *root : reduces)
    for (Value to : root->getResults()) {
      auto buffer = buffers.find(to);
      if (buffer != buffers.end())
        storeTile(buffer->second, results[next], env);
      ++next;
    }
}
