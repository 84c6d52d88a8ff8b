//===- FragmentReduce.cpp - reductions and operands of fragments -----------===//
//
// A reduction over columns combines what a thread has, then, by shuffles, what
// the threads of a row have: all of them get the result.
//
//===----------------------------------------------------------------------===//
#include "Fragments.h"

#include "TileEmitter.h"

#include <limits>

using namespace mlir;
using namespace redfuse;

using Kind = Fragment::Kind;

/// The value of the thread whose lane differs in the bits of `mask`.
Value FragmentEmitter::shuffle(Value v, int64_t mask) {
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

FragmentEmitter::State FragmentEmitter::combine(ReduceOp op, const State &x,
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
Value FragmentEmitter::reducedAt(ReduceOp op, unsigned k,
                                 const Fragment &operand, const Fragment &shape,
                                 size_t i, Value left) {
  Value v = elementFor(operand, shape, i);
  if (!left)
    return v;
  bool isMatrix = shape.kind == Kind::Matrix;
  return arith::SelectOp::create(
      b, loc, isInside(left, isMatrix ? shape.columnOf(i) : i), v,
      constant(getIdentityOf(op, k)));
}

/// Of one of the thread's rows; `shape` is that of the reduced values together.
FragmentEmitter::State FragmentEmitter::reduceRow(ReduceOp op,
                                                  ArrayRef<Fragment> operands,
                                                  const Fragment &shape,
                                                  size_t row) {
  // Four chains, so that they overlap.
  SmallVector<State, 4> chains;
  size_t count = 0;
  Value left = columnsLeft(shape.dim);
  for (size_t i = 0, size = sizeOf(shape); i < size; ++i) {
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
FragmentEmitter::State FragmentEmitter::combineLanes(ReduceOp op, State total) {
  for (unsigned mask = 1; mask < layout.lanes; mask *= 2) {
    State other;
    for (Value v : total)
      other.push_back(shuffle(v, mask));
    total = combine(op, total, other);
  }
  return total;
}

Fragment FragmentEmitter::acrossLanes(ReduceOp op, Fragment partial) {
  for (Value &v : partial.values)
    v = combineLanes(op, {v})[0];
  return partial;
}

/// What a reduction is of. The result is a multiple by `scale`, if that is set.
SmallVector<Fragment> FragmentEmitter::reducedValues(ReduceOp op,
                                                     Value &scale) {
  Reducer reducer = op.getReducer();
  bool isMax = reducer == Reducer::MaximumF;
  SmallVector<Fragment> operands;
  for (Value v : op.getOperands()) {
    while (Operation *def = v.getDefiningOp())
      if (Value same = simplify(def))
        v = same;
      else
        break;
    // The largest multiple is the multiple of the largest.
    if (isMax || reducer == Reducer::MinimumF)
      if (auto [inner, by] = scaleOf(v); inner) {
        v = inner;
        scale = by;
      }
    operands.push_back(get(v));
  }
  return operands;
}

/// Values are looked at as integers of 32 bits, of which ptxas compares three at a
/// time: where the limit is positive, floats above it are integers above it. Where
/// it is not, or no number, the answer is yes.
Value FragmentEmitter::isAnyAbove(ReduceOp max, const Fragment &limit) {
  Value scale;
  Fragment operand = reducedValues(max, scale)[0], shape = operand;
  shape.kind = Kind::Matrix;
  shape.dim = max.getOver()[0];
  shape.rows = layout.rows;
  Type i32 = b.getI32Type();
  Value zero = constant(b.getI32IntegerAttr(0)), result,
        left = columnsLeft(shape.dim);
  auto bitsOf = [&](Value v) -> Value {
    if (scale)
      v = arith::MulFOp::create(b, loc, v, scale);
    return arith::BitcastOp::create(b, loc, i32, v);
  };
  for (size_t row = 0; row < layout.rows; ++row) {
    SmallVector<Value, 2> chains;
    size_t count = 0;
    for (size_t i = 0, size = sizeOf(shape); i < size; ++i) {
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
    Value bound =
        arith::BitcastOp::create(b, loc, i32, elementFor(limit, limit, row));
    Value isNegative =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, bound, zero);
    Value isAbove = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt,
                                          largest, bound);
    Value one = arith::OrIOp::create(b, loc, isNegative, isAbove);
    result = result ? Value(arith::OrIOp::create(b, loc, result, one)) : one;
  }
  return ptx.isAny(result);
}

void FragmentEmitter::reduce(ReduceOp op) {
  if (op.getReducer() == Reducer::TopK)
    return selectLargest(op);
  Value scale;
  SmallVector<Fragment> operands = reducedValues(op, scale);
  Fragment shape;
  for (const Fragment &operand : operands)
    shape = join(shape, operand);
  bool hasRows = shape.kind == Kind::Row || shape.kind == Kind::Matrix;
  shape.kind = hasRows ? Kind::Matrix : Kind::Column;
  shape.dim = op.getOver()[0];
  SmallVector<Fragment> results(op->getNumResults());
  for (Fragment &result : results) {
    result.kind = hasRows ? Kind::Row : Kind::Uniform;
    result.rows = layout.rows;
  }
  for (size_t row = 0; row < (hasRows ? layout.rows : 1); ++row) {
    State total = reduceRow(op, operands, shape, row);
    // Rounded as the multiple of each element is: the largest one less this is 0.
    // (Next to 2^40 a unit in the last place is more than exponentials survive.)
    if (scale)
      total[0] = arith::MulFOp::create(b, loc, total[0], scale);
    for (auto [result, v] : llvm::zip_equal(results, total))
      result.values.push_back(v);
  }
  for (auto [v, result] : llvm::zip_equal(op->getResults(), results))
    values[v] = result;
}

//===----------------------------------------------------------------------===//
// The largest of a row
//===----------------------------------------------------------------------===//

/// Whether a value is the number of its column.
static bool isColumnNumber(Value v, unsigned d) {
  if (auto narrow = v.getDefiningOp<arith::IndexCastOp>())
    v = narrow.getIn();
  auto at = v.getDefiningOp<IndexOp>();
  return at && at.getDim() == int64_t(d);
}

/// Rank after rank, the threads of a row agree on the best of what is left.
/// Values are compared as integers of the same order: a NaN, as the largest, is
/// the highest of them, nothing the lowest. (So a zero loses its sign, and a NaN
/// what it carries.) Of equal ones the first goes first.
void FragmentEmitter::selectLargest(ReduceOp op) {
  unsigned d = op.getOver()[0], rank = 0;
  const SmallBitVector &dims = (*sets)[op.getResult(0)];
  for (unsigned r : dims.set_bits())
    if (!(*sets)[op.getOperand(0)].test(r) &&
        !(*sets)[op.getOperand(1)].test(r))
      rank = r;
  Type i32 = b.getI32Type(), f32 = b.getF32Type();
  auto integer = [&](int32_t v) { return constant(b.getI32IntegerAttr(v)); };
  auto select = [&](Value condition, Value x, Value y) -> Value {
    return arith::SelectOp::create(b, loc, condition, x, y);
  };
  auto compare = [&](arith::CmpIPredicate how, Value x, Value y) -> Value {
    return arith::CmpIOp::create(b, loc, how, x, y);
  };
  auto flip = [&](Value bits) {
    // Of negative floats the larger magnitude is the smaller one.
    Value isNegative = compare(arith::CmpIPredicate::slt, bits, integer(0));
    Value flipped = arith::XOrIOp::create(b, loc, bits, integer(0x7fffffff));
    return select(isNegative, flipped, bits);
  };
  Value nothing = integer(INT32_MIN), noNumber = integer(-1);
  auto orderOf = [&](Value v) {
    if (!v.getType().isF32())
      v = arith::ExtFOp::create(b, loc, f32, v);
    Value isNaN =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, v, v);
    Value zero = constant(b.getF32FloatAttr(0));
    Value isZero =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, v, zero);
    Value bits = flip(arith::BitcastOp::create(b, loc, i32, v));
    return select(isNaN, integer(INT32_MAX), select(isZero, integer(0), bits));
  };

  bool isNumber = isColumnNumber(op.getOperand(1), d);
  Fragment value = get(op.getOperand(0)), number;
  if (!isNumber)
    number = get(op.getOperand(1));
  Fragment shape = join(value, number);
  bool hasRows = shape.kind == Kind::Row || shape.kind == Kind::Matrix;
  shape.kind = hasRows ? Kind::Matrix : Kind::Column;
  shape.dim = d;
  size_t rows = hasRows ? layout.rows : 1;
  auto rowOf = [&](size_t i) { return hasRows ? shape.rowOf(i) : 0; };
  auto columnOf = [&](size_t i) { return hasRows ? shape.columnOf(i) : i; };
  // What is compared, the columns' numbers, and what goes with them.
  size_t size = sizeOf(shape);
  SmallVector<Value> left, columns, carried;
  Value existing = columnsLeft(d);
  for (size_t i = 0; i < size; ++i) {
    Value order = orderOf(elementFor(value, shape, i));
    if (existing)
      order = select(isInside(existing, columnOf(i)), order, nothing);
    left.push_back(order);
    columns.push_back(
        arith::IndexCastOp::create(b, loc, i32, columnAt(d, columnOf(i))));
    if (!isNumber)
      carried.push_back(elementFor(number, shape, i));
  }
  Fragment result = shape;
  result.dim = rank;
  size_t kept = sizeOf(result);
  Type numberType = op.getOperand(1).getType();
  Value none =
      isNumber ? noNumber : constant(cast<TypedAttr>(getIdentityOf(op, 1)));
  // What is left, then the values and the numbers found.
  SmallVector<Value> state = left;
  // An empty place has the value of the identity.
  state.append(kept, flip(arith::BitcastOp::create(
                         b, loc, i32,
                         constant(b.getF32FloatAttr(
                             -std::numeric_limits<float>::infinity())))));
  state.append(kept, none);
  state = emitFor(
      b, loc, index(0), extents[rank], index(1), state,
      [&](Value at, ValueRange now) {
        SmallVector<Value> next(now);
        struct Found {
          Value best, column, goesWith;
        };
        auto pick = [&](Value condition, const Found &x, const Found &y) {
          return Found{select(condition, x.best, y.best),
                       select(condition, x.column, y.column),
                       isNumber ? Value()
                                : select(condition, x.goesWith, y.goesWith)};
        };
        // A thread's own, of neighbours, of these, and so on: few compares wait for
        // others. Then of a row's threads; of all rows at a time.
        SmallVector<Found> ofRows;
        for (size_t row = 0; row < rows; ++row) {
          SmallVector<Found> found;
          for (size_t i = 0; i < size; ++i)
            if (rowOf(i) == row)
              found.push_back(
                  {now[i], columns[i], isNumber ? Value() : carried[i]});
          while (found.size() > 1) {
            SmallVector<Found> better;
            for (size_t i = 0; i + 1 < found.size(); i += 2)
              better.push_back(pick(compare(arith::CmpIPredicate::sgt,
                                            found[i + 1].best, found[i].best),
                                    found[i + 1], found[i]));
            if (found.size() % 2 != 0)
              better.push_back(found.back());
            found = std::move(better);
          }
          Value isNone =
              compare(arith::CmpIPredicate::eq, found[0].best, nothing);
          ofRows.push_back(pick(isNone, {nothing, noNumber, none}, found[0]));
        }
        for (unsigned mask = 1; mask < layout.lanes; mask *= 2)
          for (Found &found : ofRows) {
            Found other{shuffle(found.best, mask), shuffle(found.column, mask),
                        isNumber ? Value() : shuffle(found.goesWith, mask)};
            Value isLarger =
                compare(arith::CmpIPredicate::sgt, other.best, found.best);
            Value isEqual =
                compare(arith::CmpIPredicate::eq, other.best, found.best);
            Value isFirst =
                compare(arith::CmpIPredicate::ult, other.column, found.column);
            found = pick(arith::OrIOp::create(
                             b, loc, isLarger,
                             arith::AndIOp::create(b, loc, isEqual, isFirst)),
                         other, found);
          }
        for (size_t row = 0; row < rows; ++row) {
          auto [best, column, goesWith] = ofRows[row];
          if (isNumber)
            goesWith = column;
          Value isSome = compare(arith::CmpIPredicate::ne, best, nothing);
          for (size_t i = 0; i < size; ++i)
            if (rowOf(i) == row)
              next[i] =
                  select(compare(arith::CmpIPredicate::eq, columns[i], column),
                         nothing, now[i]);
          for (size_t i = 0; i < kept; ++i) {
            if ((hasRows ? result.rowOf(i) : 0) != row)
              continue;
            Value isHere =
                compare(arith::CmpIPredicate::eq,
                        columnAt(rank, hasRows ? result.columnOf(i) : i), at);
            isHere = arith::AndIOp::create(b, loc, isHere, isSome);
            next[size + i] = select(isHere, best, now[size + i]);
            next[size + kept + i] =
                select(isHere, goesWith, now[size + kept + i]);
          }
        }
        return next;
      });
  Fragment numbers = result;
  for (size_t i = 0; i < kept; ++i) {
    Value v = arith::BitcastOp::create(b, loc, f32, flip(state[size + i]));
    if (value.values[0].getType() != f32)
      v = arith::TruncFOp::create(b, loc, value.values[0].getType(), v);
    result.values.push_back(v);
    v = state[size + kept + i];
    if (isNumber && numberType.isIndex())
      v = arith::IndexCastOp::create(b, loc, numberType, v);
    else if (isNumber && !numberType.isInteger(32))
      v = arith::ExtSIOp::create(b, loc, numberType, v);
    numbers.values.push_back(v);
  }
  values[op.getResult(0)] = result;
  values[op.getResult(1)] = numbers;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Value FragmentEmitter::packLeft(const MatrixProduct &product) {
  // Two roundings to the same type are one.
  Value v = stripExtension(product.left);
  if (auto narrow = v.getDefiningOp<arith::TruncFOp>();
      narrow && narrow.getIn().getType().isF32() &&
      v.getType() == product.element)
    v = narrow.getIn();
  Fragment fragment = get(v), shape;
  shape.kind = Kind::Matrix;
  shape.dim = product.k;
  shape.rows = layout.rows;
  size_t size = sizeOf(shape);
  SmallVector<Value> elements;
  Value left = columnsLeft(product.k);
  for (size_t i = 0; i < size; ++i) {
    Value element = elementFor(fragment, shape, i);
    if (left)
      element = arith::SelectOp::create(
          b, loc, isInside(left, shape.columnOf(i)), element,
          constant(b.getZeroAttr(element.getType())));
    if (!element.getType().isF32())
      element = arith::ExtFOp::create(b, loc, b.getF32Type(), element);
    elements.push_back(element);
  }
  auto type =
      tile::OperandType::get(b.getContext(), plan.groupRows,
                             plan.widths.lookup(product.k), product.element);
  return tile::PackOp::create(b, loc, type, elements);
}
