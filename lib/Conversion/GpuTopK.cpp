//===- GpuTopK.cpp - the largest elements of a row by a warp ---------------===//
//
// A warp has a row: each lane holds every 32nd candidate in registers. For each
// rank the lanes agree by shuffles on the best of what is left; its owner lets
// go of it. Of equal candidates the one that comes first in the row goes first,
// as when they are inserted one after another.
//
//===----------------------------------------------------------------------===//
#include "GpuEmitter.h"

using namespace mlir;
using namespace redfuse;

static constexpr unsigned kTeam = 32;
/// Candidates that a lane holds at most.
static constexpr int64_t kHeld = 16;

bool GpuEmitter::canTopKByWarps() const {
  std::optional<int64_t> count = staticCountOf(axesOf(group->over));
  return threads >= kTeam && count && *count > 1 && *count <= kHeld * kTeam;
}

void GpuEmitter::emitTopKByWarps() {
  Axes into = axesOf(intoDims), over = axesOf(group->over);
  Value by = constantIndex(kTeam);
  Value warp = divide(thread, by, /*remainder=*/false);
  Value lane = divide(thread, by, /*remainder=*/true);
  Value count = countOf(into);
  emitFor(b, loc, constantIndex(0), count, constantIndex(threads / kTeam), {},
          [&](Value base, ValueRange) {
            // Warps beyond the end go through the motions and store nothing.
            Value number = arith::AddIOp::create(b, loc, base, warp);
            Value exists = arith::CmpIOp::create(
                b, loc, arith::CmpIPredicate::ult, number, count);
            Value last = arith::SubIOp::create(b, loc, count, constantIndex(1));
            number = arith::MinUIOp::create(b, loc, number, last);
            Value isFirst = arith::CmpIOp::create(
                b, loc, arith::CmpIPredicate::eq, lane, constantIndex(0));
            Value stores = arith::AndIOp::create(b, loc, exists, isFirst);
            Env env;
            env.position.assign(dims.size(), Value());
            bindAxes(env, into, number);
            emitAvailable(env);
            emitTopKRow(env, over, lane, stores);
            return SmallVector<Value>();
          });
}

/// Whether candidate (value, number) goes before another one.
Value GpuEmitter::goesBefore(const Candidate &a, const Candidate &c) {
  Value larger = isLarger(a.value, c.value);
  Value smaller = isLarger(c.value, a.value);
  Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                      a.number, c.number);
  Value equal = arith::SelectOp::create(b, loc, smaller,
                                        constant(b.getBoolAttr(false)), first);
  Value better = arith::OrIOp::create(b, loc, larger, equal);
  // What is there goes before what is not.
  Value none = constant(b.getI32IntegerAttr(-1));
  Value isHere =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, a.number, none);
  Value isThere =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, c.number, none);
  better = arith::SelectOp::create(b, loc, isThere, better,
                                   constant(b.getBoolAttr(true)));
  return arith::AndIOp::create(b, loc, isHere, better);
}

void GpuEmitter::emitTopKRow(Env &row, ArrayRef<Axis> over, Value lane,
                             Value stores) {
  ReduceOp reduce = reduces.front()->reduce;
  const TileBuffer &values = buffers.find(reduce.getResult(0))->second;
  const TileBuffer &indices = buffers.find(reduce.getResult(1))->second;
  unsigned rank = values.dims.back();
  int64_t n = *staticCountOf(over);
  Type i32 = b.getI32Type();
  Value none = constant(b.getI32IntegerAttr(-1));
  SmallVector<Candidate> held;
  SmallVector<Value> numbers;
  for (int64_t start = 0; start < n; start += kTeam) {
    Value point =
        b.createOrFold<arith::AddIOp>(loc, lane, constantIndex(start));
    Value at = point;
    if (start + kTeam > n)
      at = arith::MinUIOp::create(b, loc, point, constantIndex(n - 1));
    Env env = row;
    bindAxes(env, over, at);
    emitAvailable(env);
    Value number = arith::IndexCastOp::create(b, loc, i32, point);
    if (start + kTeam > n) {
      Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                                           point, constantIndex(n));
      number = arith::SelectOp::create(b, loc, exists, number, none);
    }
    held.push_back({valueOf(reduce.getOperand(0), env),
                    valueOf(reduce.getOperand(1), env), number});
    numbers.push_back(number);
  }
  Candidate nothing{
      constant(getReducerIdentity(Reducer::TopK, held[0].value.getType())),
      constant(b.getIntegerAttr(held[0].index.getType(), -1)), none};
  emitFor(b, loc, constantIndex(0), dims[rank].size, constantIndex(1), numbers,
          [&](Value at, ValueRange left) {
            Candidate best = nothing;
            auto take = [&](const Candidate &other) {
              Value better = goesBefore(other, best);
              auto pick = [&](Value x, Value y) -> Value {
                return arith::SelectOp::create(b, loc, better, x, y);
              };
              best = {pick(other.value, best.value),
                      pick(other.index, best.index),
                      pick(other.number, best.number)};
            };
            for (auto [candidate, number] : llvm::zip_equal(held, left))
              take({candidate.value, candidate.index, number});
            for (unsigned distance = 1; distance < kTeam; distance *= 2) {
              Parts other =
                  shuffle({best.value, best.index, best.number}, distance);
              take({other[0], other[1], other[2]});
            }
            auto branch = scf::IfOp::create(b, loc, stores, /*withElse=*/false);
            {
              OpBuilder::InsertionGuard guard(b);
              b.setInsertionPoint(branch.thenYield());
              Env to = row;
              to.position[rank] = at;
              storeTile(values, best.value, to);
              storeTile(indices, best.index, to);
            }
            SmallVector<Value> next;
            for (Value number : left) {
              Value isTaken = arith::CmpIOp::create(
                  b, loc, arith::CmpIPredicate::eq, number, best.number);
              next.push_back(
                  arith::SelectOp::create(b, loc, isTaken, none, number));
            }
            return next;
          });
}
