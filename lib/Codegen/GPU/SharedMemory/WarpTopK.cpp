//===- WarpTopK.cpp - the largest elements of a row by a warp -------------===//
//
// A warp has a row: a lane of n holds every n-th candidate in registers. For each
// rank the lanes agree by shuffles on the best of what is left; its owner lets go
// of it. Of equal candidates the one that comes first in the row goes first, as
// when they are inserted one after another.
//
// Of a longer row, or one of unknown length, the lanes hold a part at a time, and
// beside it, a rank each, the best of the parts before.
//
//===----------------------------------------------------------------------===//
#include "WarpTopK.h"

#include "redfuse/Codegen/Common/OrderedRows.h"
#include "redfuse/Codegen/GPU/SharedMemory/Tuning.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

bool WarpTopK::canEmit() const {
  std::optional<int64_t> count =
      points.staticCountOf(emitter.axesOf(emitter.getNest().over));
  if (emitter.threads < emitter.getWarpSize() || (count && *count <= 1))
    return false;
  if (count && *count <= kTopKCandidates * emitter.getWarpSize())
    return true;
  // A lane has a rank.
  const TileBuffer *values =
      emitter.findBuffer(emitter.getReduces().front()->reduce.getResult(0));
  unsigned rank = values->dims.back();
  return emitter.getDim(rank).staticSize &&
         *emitter.getDim(rank).staticSize <= emitter.getWarpSize();
}

void WarpTopK::emit() {
  Axes into = emitter.axesOf(emitter.getIntoDims()),
       over = emitter.axesOf(emitter.getNest().over);
  Value by = emitter.constantIndex(emitter.getWarpSize());
  Value warp = points.divide(emitter.thread, by, /*remainder=*/false);
  Value lane = points.divide(emitter.thread, by, /*remainder=*/true);
  Value count = points.countOf(into);
  emitFor(b, loc, emitter.constantIndex(0), count,
          emitter.constantIndex(emitter.threads / emitter.getWarpSize()), {},
          [&](Value base, ValueRange) {
            // Warps beyond the end go through the motions and store nothing.
            Value number = arith::AddIOp::create(b, loc, base, warp);
            Value exists = arith::CmpIOp::create(
                b, loc, arith::CmpIPredicate::ult, number, count);
            Value last =
                arith::SubIOp::create(b, loc, count, emitter.constantIndex(1));
            number = arith::MinUIOp::create(b, loc, number, last);
            Env env = emitter.getOrigin();
            points.bind(env, into, number);
            emitter.emitAvailable(env);
            emitRow(env, over, lane, exists);
            return SmallVector<Value>();
          });
}

/// Whether candidate (value, number) goes before another one.
Value WarpTopK::goesBefore(const Candidate &a, const Candidate &c) {
  Value larger = isLarger(b, loc, a.value, c.value);
  Value smaller = isLarger(b, loc, c.value, a.value);
  Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                      a.number, c.number);
  Value equal = arith::SelectOp::create(
      b, loc, smaller, emitter.constant(b.getBoolAttr(false)), first);
  Value better = arith::OrIOp::create(b, loc, larger, equal);
  // What is there goes before what is not.
  Value none = emitter.constant(b.getI32IntegerAttr(-1));
  Value isHere =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, a.number, none);
  Value isThere =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, c.number, none);
  better = arith::SelectOp::create(b, loc, isThere, better,
                                   emitter.constant(b.getBoolAttr(true)));
  return arith::AndIOp::create(b, loc, isHere, better);
}

/// The candidates of a lane, each `warpSize` behind the other from `start` on; the
/// first `whole` of all lanes' exist.
SmallVector<WarpTopK::Candidate>
WarpTopK::loadCandidates(Env &row, ArrayRef<Axis> over, Value start,
                         int64_t most, int64_t whole) {
  ReduceOp reduce = emitter.getReduces().front()->reduce;
  Value count = points.countOf(over),
        none = emitter.constant(b.getI32IntegerAttr(-1));
  Value last = arith::SubIOp::create(b, loc, count, emitter.constantIndex(1));
  SmallVector<Candidate> held;
  for (int64_t i = 0; i < most; i += emitter.getWarpSize()) {
    Value point =
        b.createOrFold<arith::AddIOp>(loc, start, emitter.constantIndex(i));
    bool isWhole = i + emitter.getWarpSize() <= whole;
    Env env = row;
    points.bind(env, over,
                isWhole
                    ? point
                    : arith::MinUIOp::create(b, loc, point, last).getResult());
    emitter.emitAvailable(env);
    Value number = arith::IndexCastOp::create(b, loc, b.getI32Type(), point);
    if (!isWhole) {
      Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                           point, count);
      number = arith::SelectOp::create(b, loc, exists, number, none);
    }
    held.push_back({emitter.valueOf(reduce.getOperand(0), env),
                    emitter.valueOf(reduce.getOperand(1), env), number});
  }
  return held;
}

/// The best of what the lanes have left, which then lets go of it.
WarpTopK::Candidate WarpTopK::takeBest(ArrayRef<Candidate> held,
                                       SmallVectorImpl<Value> &left) {
  Value none = emitter.constant(b.getI32IntegerAttr(-1));
  Candidate best{
      emitter.constant(
          getReducerIdentity(Reducer::TopK, held[0].value.getType())),
      emitter.constant(b.getIntegerAttr(held[0].index.getType(), -1)), none};
  auto pick = [&](Value condition, Value x, Value y) -> Value {
    return arith::SelectOp::create(b, loc, condition, x, y);
  };
  auto take = [&](const Candidate &other) {
    Value better = goesBefore(other, best);
    best = {pick(better, other.value, best.value),
            pick(better, other.index, best.index),
            pick(better, other.number, best.number)};
  };
  for (auto [candidate, number] : llvm::zip_equal(held, left))
    take({candidate.value, candidate.index, number});
  for (unsigned distance = 1; distance < emitter.getWarpSize(); distance *= 2) {
    Parts other =
        emitter.words.shuffle({best.value, best.index, best.number}, distance);
    take({other[0], other[1], other[2]});
  }
  for (Value &number : left) {
    Value isTaken = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          number, best.number);
    number = pick(isTaken, none, number);
  }
  return best;
}

void WarpTopK::emitRow(Env &row, ArrayRef<Axis> over, Value lane,
                       Value exists) {
  ReduceOp reduce = emitter.getReduces().front()->reduce;
  const TileBuffer &values = *emitter.findBuffer(reduce.getResult(0));
  const TileBuffer &indices = *emitter.findBuffer(reduce.getResult(1));
  unsigned rank = values.dims.back();
  auto numbersOf = [](ArrayRef<Candidate> held) {
    return llvm::map_to_vector(held,
                               [](const Candidate &c) { return c.number; });
  };
  // Stores what a lane has where `condition` holds.
  auto store = [&](Value condition, Value at, const Candidate &candidate) {
    auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    Env to = row;
    to.position[rank] = at;
    emitter.storeTile(values, candidate.value, to);
    emitter.storeTile(indices, candidate.index, to);
  };
  int64_t part = kTopKCandidates * emitter.getWarpSize();
  std::optional<int64_t> known = points.staticCountOf(over);
  if (known && *known <= part) {
    SmallVector<Candidate> held = loadCandidates(
        row, over, lane, llvm::alignTo(*known, int64_t(emitter.getWarpSize())),
        *known);
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          lane, emitter.constantIndex(0));
    Value stores = arith::AndIOp::create(b, loc, exists, isFirst);
    emitFor(b, loc, emitter.constantIndex(0), emitter.getDim(rank).size,
            emitter.constantIndex(1), numbersOf(held),
            [&](Value at, ValueRange numbers) {
              SmallVector<Value> left(numbers);
              store(stores, at, takeBest(held, left));
              return left;
            });
    return;
  }
  // Rank r is lane r's.
  Type value = reduce.getOperand(0).getType(),
       index = reduce.getOperand(1).getType();
  Value none = emitter.constant(b.getI32IntegerAttr(-1));
  SmallVector<Value> nothing{
      emitter.constant(getReducerIdentity(Reducer::TopK, value)),
      emitter.constant(b.getIntegerAttr(index, -1)), none};
  SmallVector<Value> ranks = emitFor(
      b, loc, emitter.constantIndex(0), points.countOf(over),
      emitter.constantIndex(part), nothing,
      [&](Value start, ValueRange before) {
        Value first = arith::AddIOp::create(b, loc, start, lane);
        SmallVector<Candidate> held = loadCandidates(
            row, over, first, part, known && *known % part == 0 ? part : 0);
        held.push_back({before[0], before[1], before[2]});
        SmallVector<Value> state = numbersOf(held);
        llvm::append_range(state, nothing);
        state = emitFor(
            b, loc, emitter.constantIndex(0), emitter.getDim(rank).size,
            emitter.constantIndex(1), state, [&](Value at, ValueRange numbers) {
              SmallVector<Value> left(numbers.drop_back(3));
              Candidate best = takeBest(held, left);
              Value isMine = arith::CmpIOp::create(
                  b, loc, arith::CmpIPredicate::eq, lane, at);
              for (auto [mine, old] : llvm::zip_equal(
                       ArrayRef({best.value, best.index, best.number}),
                       numbers.take_back(3)))
                left.push_back(
                    arith::SelectOp::create(b, loc, isMine, mine, old));
              return left;
            });
        return SmallVector<Value>(ArrayRef(state).take_back(3));
      });
  Value hasRank = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, lane,
                                        emitter.getDim(rank).size);
  store(arith::AndIOp::create(b, loc, exists, hasRank), lane,
        {ranks[0], ranks[1], ranks[2]});
}
