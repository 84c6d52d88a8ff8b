//===- FragmentReducer.cpp - reductions of fragments ----------------------===//
//
// A reduction over columns combines what a thread has, then, by shuffles, what
// the threads of a row have: all of them get the result.
//
//===----------------------------------------------------------------------===//
#include "FragmentEmitter.h"

#include "redfuse/Codegen/Common/TileEmitter.h"

#include <limits>

using namespace mlir;
using namespace redfuse;

using Kind = Fragment::Kind;

/// The value of the thread whose lane differs in the bits of `mask`.
Value FragmentReducer::shuffle(Value v, int64_t mask) {
  Type type = v.getType(), i32 = b.getI32Type(), i64 = b.getI64Type();
  if (type.isF32() || type.isInteger(32))
    return ptx.shuffleXor(v, mask);
  if (type.isIndex())
    return arith::IndexCastOp::create(
        b, loc, type,
        shuffle(arith::IndexCastOp::create(b, loc, i64, v), mask));
  Type bits = b.getIntegerType(type.getIntOrFloatBitWidth());
  if (isa<FloatType>(type))
    return arith::BitcastOp::create(
        b, loc, type, shuffle(arith::BitcastOp::create(b, loc, bits, v), mask));
  if (!type.isInteger(64)) {
    // 16 bits and fewer.
    Value wide = arith::ExtUIOp::create(b, loc, i32, v);
    return arith::TruncIOp::create(b, loc, type, ptx.shuffleXor(wide, mask));
  }
  Value low = arith::TruncIOp::create(b, loc, i32, v);
  Value high = arith::TruncIOp::create(
      b, loc, i32, arith::ShRUIOp::create(b, loc, v, ptx.i64(32)));
  low = arith::ExtUIOp::create(b, loc, i64, ptx.shuffleXor(low, mask));
  high = arith::ExtUIOp::create(b, loc, i64, ptx.shuffleXor(high, mask));
  return arith::OrIOp::create(b, loc, low,
                              arith::ShLIOp::create(b, loc, high, ptx.i64(32)));
}

FragmentReducer::State FragmentReducer::combine(ReduceOp op, const State &x,
                                                const State &y) {
  if (op.isDeclared())
    return State(inlineCombiner(b, op.getCombine(), x, y));
  if (isPair(op.getReducer())) {
    State result = x;
    combinePair(b, loc, op.getReducer(), result[0], result[1], y[0], y[1],
                /*isOrdered=*/false);
    return result;
  }
  return {combineValues(b, loc, op.getReducer(), x[0], y[0])};
}

/// Element `i` of operand `k`; the identity where there is none, of `left` columns.
Value FragmentReducer::reducedAt(ReduceOp op, unsigned k,
                                 const Fragment &operand, const Fragment &shape,
                                 size_t i, Value left) {
  Value v = place.elementFor(operand, shape, i);
  if (!left)
    return v;
  bool isMatrix = shape.kind == Kind::Matrix;
  return arith::SelectOp::create(
      b, loc, place.isInside(left, isMatrix ? shape.columnOf(i) : i), v,
      place.constant(getIdentityOf(op, k)));
}

/// Of one of the thread's rows; `shape` is that of the reduced values together.
FragmentReducer::State FragmentReducer::reduceRow(ReduceOp op,
                                                  ArrayRef<Fragment> operands,
                                                  const Fragment &shape,
                                                  size_t row) {
  // Four chains, so that they overlap. Of a value and its index each begins with
  // nothing: a NaN that came first would never be beaten.
  SmallVector<State, 4> chains;
  if (isPair(op.getReducer()))
    chains.assign(4, {place.constant(getIdentityOf(op, 0)),
                      place.constant(getIdentityOf(op, 1))});
  size_t count = 0;
  Value left = place.columnsLeft(shape.dim);
  for (size_t i = 0, size = place.sizeOf(shape); i < size; ++i) {
    bool isMatrix = shape.kind == Kind::Matrix;
    if (isMatrix && shape.rowOf(i) != row)
      continue;
    State element;
    for (auto [k, operand] : llvm::enumerate(operands))
      element.push_back(reducedAt(op, k, operand, shape, i, left));
    if (chains.size() < 4)
      chains.push_back(element);
    else
      chains[count % 4] = combine(op, chains[count % 4], element);
    ++count;
  }
  while (chains.size() > 1) {
    SmallVector<State, 4> merged;
    for (size_t i = 0; i + 1 < chains.size(); i += 2)
      merged.push_back(combine(op, chains[i], chains[i + 1]));
    if (chains.size() % 2 == 1)
      merged.push_back(chains.back());
    chains = merged;
  }
  State total = chains.front();
  return inThread.contains(op) ? total : combineLanes(op, total);
}

/// Of the threads that share a row.
FragmentReducer::State FragmentReducer::combineLanes(ReduceOp op, State total) {
  for (unsigned mask = 1; mask < place.layout.lanes; mask *= 2) {
    State other;
    for (Value v : total)
      other.push_back(shuffle(v, mask));
    total = combine(op, total, other);
  }
  return total;
}

Fragment FragmentReducer::acrossLanes(ReduceOp op, Fragment partial) {
  for (Value &v : partial.values)
    v = combineLanes(op, {v})[0];
  return partial;
}

/// What a reduction is of. The result is a multiple by `scale`, if that is set.
SmallVector<Fragment> FragmentReducer::reducedValues(ReduceOp op,
                                                     Value &scale) {
  Reducer reducer = op.getReducer();
  bool isMax = reducer == Reducer::MaximumF;
  SmallVector<Fragment> operands;
  for (Value v : op.getOperands()) {
    while (Operation *def = v.getDefiningOp())
      if (Value same = emitter.simplify(def))
        v = same;
      else
        break;
    // The largest multiple is the multiple of the largest.
    if (isMax || reducer == Reducer::MinimumF)
      if (auto [inner, by] = emitter.math.scaleOf(v); inner) {
        v = inner;
        scale = by;
      }
    operands.push_back(emitter.get(v));
  }
  return operands;
}

/// Values are looked at as integers of 32 bits, of which ptxas compares three at a
/// time: where the limit is positive, floats above it are integers above it. Where
/// it is not, or no number, the answer is yes.
Value FragmentReducer::isAnyAbove(ReduceOp max, const Fragment &limit) {
  Value scale;
  Fragment operand = reducedValues(max, scale)[0], shape = operand;
  shape.kind = Kind::Matrix;
  shape.dim = max.getOver()[0];
  shape.rows = place.layout.rows;
  Type i32 = b.getI32Type();
  Value zero = place.constant(b.getI32IntegerAttr(0)), result,
        left = place.columnsLeft(shape.dim);
  auto bitsOf = [&](Value v) -> Value {
    if (scale)
      v = arith::MulFOp::create(b, loc, v, scale);
    return arith::BitcastOp::create(b, loc, i32, v);
  };
  for (size_t row = 0; row < place.layout.rows; ++row) {
    SmallVector<Value, 2> chains;
    size_t count = 0;
    for (size_t i = 0, size = place.sizeOf(shape); i < size; ++i) {
      if (shape.rowOf(i) != row)
        continue;
      Value bits = bitsOf(reducedAt(max, 0, operand, shape, i, left));
      if (chains.size() < 2)
        chains.push_back(bits);
      else
        // Two in a row for each chain: one instruction.
        chains[count / 2 % 2] =
            arith::MaxSIOp::create(b, loc, chains[count / 2 % 2], bits);
      ++count;
    }
    Value largest = arith::MaxSIOp::create(b, loc, chains[0], chains[1]);
    Value bound = arith::BitcastOp::create(b, loc, i32,
                                           place.elementFor(limit, limit, row));
    Value isNegative =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, bound, zero);
    Value isAbove = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                          largest, bound);
    Value one = arith::OrIOp::create(b, loc, isNegative, isAbove);
    result = result ? Value(arith::OrIOp::create(b, loc, result, one)) : one;
  }
  return ptx.isAny(result);
}

SmallVector<Fragment> FragmentReducer::reduce(ReduceOp op) {
  if (op.getReducer() == Reducer::TopK)
    return selectLargest(op);
  Value scale;
  SmallVector<Fragment> operands = reducedValues(op, scale);
  Fragment shape;
  for (const Fragment &operand : operands)
    shape = place.join(shape, operand);
  bool hasRows = shape.kind == Kind::Row || shape.kind == Kind::Matrix;
  shape.kind = hasRows ? Kind::Matrix : Kind::Column;
  shape.dim = op.getOver()[0];
  SmallVector<Fragment> results(op->getNumResults());
  for (Fragment &result : results) {
    result.kind = hasRows ? Kind::Row : Kind::Uniform;
    result.rows = place.layout.rows;
  }
  for (size_t row = 0; row < (hasRows ? place.layout.rows : 1); ++row) {
    State total = reduceRow(op, operands, shape, row);
    // Rounded as the multiple of each element is: the largest one less this is 0.
    // (Next to 2^40 a unit in the last place is more than exponentials survive.)
    if (scale)
      total[0] = arith::MulFOp::create(b, loc, total[0], scale);
    for (auto [result, v] : llvm::zip_equal(results, total))
      result.values.push_back(v);
  }
  return results;
}
