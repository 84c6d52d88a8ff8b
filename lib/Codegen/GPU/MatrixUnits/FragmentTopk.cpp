//===- FragmentTopk.cpp - the largest elements of rows --------------------===//
//
// Rank after rank, the threads of a row agree on the best of what is left. Values
// are compared as integers of the same order: a NaN, as the largest, is the highest
// of them, nothing the lowest. (So a zero loses its sign, and a NaN what it carries.)
// Of equal ones the first goes first.
//
//===----------------------------------------------------------------------===//
#include "FragmentEmitter.h"

#include "redfuse/Codegen/Common/TileEmitter.h"

#include <limits>

using namespace mlir;
using namespace redfuse;

using Kind = Fragment::Kind;

namespace {
/// One reduction to the largest elements and what goes with them: the numbers of
/// their columns, or values of their own.
class LargestSelector {
public:
  LargestSelector(OpBuilder &b, Location loc, FragmentPlace &place,
                  FragmentEmitter &emitter, FragmentReducer &lanes,
                  ReduceOp op);
  SmallVector<Fragment> run();

private:
  /// An element, in its order, and the number of its column; what goes with it, where
  /// that is something else.
  struct Found {
    Value best, column, goesWith;
  };

  Value integer(int32_t v) { return place.constant(b.getI32IntegerAttr(v)); }
  Value select(Value condition, Value x, Value y) {
    return arith::SelectOp::create(b, loc, condition, x, y);
  }
  Value compare(arith::CmpIPredicate how, Value x, Value y) {
    return arith::CmpIOp::create(b, loc, how, x, y);
  }
  Found pick(Value condition, const Found &x, const Found &y);
  Value flip(Value bits);
  Value orderOf(Value v);

  size_t numRows() const { return hasRows ? place.layout.rows : 1; }
  size_t rowOf(size_t i) const { return hasRows ? shape.rowOf(i) : 0; }
  size_t columnOf(size_t i) const { return hasRows ? shape.columnOf(i) : i; }

  SmallVector<Value> readElements();
  Found bestOfThread(ValueRange left, size_t row);
  void agree(MutableArrayRef<Found> ofRows);
  void take(const Found &found, size_t row, Value at, ValueRange now,
            MutableArrayRef<Value> next);
  SmallVector<Fragment> resultsOf(ArrayRef<Value> found);

  FragmentPlace &place;
  OpBuilder &b;
  Location loc;
  FragmentReducer &lanes;
  ReduceOp op;
  /// The reduced dim and that of the ranks.
  unsigned d, rank = 0;
  bool isNumber;
  Fragment value, number;
  /// How a thread has elements, and the ones found.
  Fragment shape, result;
  bool hasRows;
  size_t kept;
  /// Of what a thread has: the numbers of columns, and what goes with them.
  SmallVector<Value> columns, carried;
  /// The order and number of no element, and what goes with it.
  Value nothing, noNumber, none;
};
} // namespace

/// Whether a value is the number of its column.
static bool isColumnNumber(Value v, unsigned d) {
  if (auto narrow = v.getDefiningOp<arith::IndexCastOp>())
    v = narrow.getIn();
  auto at = v.getDefiningOp<IndexOp>();
  return at && at.getDim() == int64_t(d);
}

LargestSelector::LargestSelector(OpBuilder &b, Location loc,
                                 FragmentPlace &place, FragmentEmitter &emitter,
                                 FragmentReducer &lanes, ReduceOp op)
    : place(place), b(b), loc(loc), lanes(lanes), op(op), d(op.getOver()[0]),
      isNumber(isColumnNumber(op.getOperand(1), d)) {
  const DimSets &sets = emitter.getSets();
  for (unsigned r : sets[op.getResult(0)].set_bits())
    if (!sets[op.getOperand(0)].test(r) && !sets[op.getOperand(1)].test(r))
      rank = r;
  value = emitter.get(op.getOperand(0));
  if (!isNumber)
    number = emitter.get(op.getOperand(1));
  shape = place.join(value, number);
  hasRows = shape.kind == Kind::Row || shape.kind == Kind::Matrix;
  shape.kind = hasRows ? Kind::Matrix : Kind::Column;
  shape.dim = d;
  result = shape;
  result.dim = rank;
  kept = place.sizeOf(result);
  nothing = integer(INT32_MIN);
  noNumber = integer(-1);
  none = isNumber ? noNumber
                  : place.constant(cast<TypedAttr>(getIdentityOf(op, 1)));
}

LargestSelector::Found LargestSelector::pick(Value condition, const Found &x,
                                             const Found &y) {
  return {select(condition, x.best, y.best),
          select(condition, x.column, y.column),
          isNumber ? Value() : select(condition, x.goesWith, y.goesWith)};
}

/// Bits of a float to its place in the order, and back: of negative floats the larger
/// magnitude is the smaller one.
Value LargestSelector::flip(Value bits) {
  Value isNegative = compare(arith::CmpIPredicate::slt, bits, integer(0));
  Value flipped = arith::XOrIOp::create(b, loc, bits, integer(0x7fffffff));
  return select(isNegative, flipped, bits);
}

Value LargestSelector::orderOf(Value v) {
  if (!v.getType().isF32())
    v = arith::ExtFOp::create(b, loc, b.getF32Type(), v);
  Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, v, v);
  Value zero = place.constant(b.getF32FloatAttr(0));
  Value isZero =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, v, zero);
  Value bits = flip(arith::BitcastOp::create(b, loc, b.getI32Type(), v));
  return select(isNaN, integer(INT32_MAX), select(isZero, integer(0), bits));
}

/// The order of all elements that the thread has.
SmallVector<Value> LargestSelector::readElements() {
  SmallVector<Value> left;
  Value existing = place.columnsLeft(d);
  for (size_t i = 0, size = place.sizeOf(shape); i < size; ++i) {
    Value order = orderOf(place.elementFor(value, shape, i));
    if (existing)
      order = select(place.isInside(existing, columnOf(i)), order, nothing);
    left.push_back(order);
    columns.push_back(arith::IndexCastOp::create(
        b, loc, b.getI32Type(), place.columnAt(d, columnOf(i))));
    if (!isNumber)
      carried.push_back(place.elementFor(number, shape, i));
  }
  return left;
}

/// The best that the thread has left of a row: that of neighbours, of these, and so
/// on, so that few compares wait for others.
LargestSelector::Found LargestSelector::bestOfThread(ValueRange left,
                                                     size_t row) {
  SmallVector<Found> found;
  for (size_t i = 0; i < columns.size(); ++i)
    if (rowOf(i) == row)
      found.push_back({left[i], columns[i], isNumber ? Value() : carried[i]});
  while (found.size() > 1) {
    SmallVector<Found> better;
    for (size_t i = 0; i + 1 < found.size(); i += 2)
      better.push_back(pick(
          compare(arith::CmpIPredicate::sgt, found[i + 1].best, found[i].best),
          found[i + 1], found[i]));
    if (found.size() % 2 != 0)
      better.push_back(found.back());
    found = std::move(better);
  }
  Value isNone = compare(arith::CmpIPredicate::eq, found[0].best, nothing);
  return pick(isNone, {nothing, noNumber, none}, found[0]);
}

/// The best of all threads of each row.
void LargestSelector::agree(MutableArrayRef<Found> ofRows) {
  for (unsigned mask = 1; mask < place.layout.lanes; mask *= 2)
    for (Found &found : ofRows) {
      Found other{lanes.shuffle(found.best, mask),
                  lanes.shuffle(found.column, mask),
                  isNumber ? Value() : lanes.shuffle(found.goesWith, mask)};
      Value isLarger =
          compare(arith::CmpIPredicate::sgt, other.best, found.best);
      Value isEqual = compare(arith::CmpIPredicate::eq, other.best, found.best);
      Value isFirst =
          compare(arith::CmpIPredicate::ult, other.column, found.column);
      isFirst = arith::AndIOp::create(b, loc, isEqual, isFirst);
      found =
          pick(arith::OrIOp::create(b, loc, isLarger, isFirst), other, found);
    }
}

/// What was found leaves the elements of its row, and is that of rank `at`.
void LargestSelector::take(const Found &found, size_t row, Value at,
                           ValueRange now, MutableArrayRef<Value> next) {
  size_t size = columns.size();
  Value goesWith = isNumber ? found.column : found.goesWith;
  Value isSome = compare(arith::CmpIPredicate::ne, found.best, nothing);
  for (size_t i = 0; i < size; ++i)
    if (rowOf(i) == row)
      next[i] =
          select(compare(arith::CmpIPredicate::eq, columns[i], found.column),
                 nothing, now[i]);
  for (size_t i = 0; i < kept; ++i) {
    if ((hasRows ? result.rowOf(i) : 0) != row)
      continue;
    size_t column = hasRows ? result.columnOf(i) : i;
    Value isHere =
        compare(arith::CmpIPredicate::eq, place.columnAt(rank, column), at);
    isHere = arith::AndIOp::create(b, loc, isHere, isSome);
    next[size + i] = select(isHere, found.best, now[size + i]);
    next[size + kept + i] = select(isHere, goesWith, now[size + kept + i]);
  }
}

SmallVector<Fragment> LargestSelector::resultsOf(ArrayRef<Value> found) {
  Type type = value.values[0].getType(), f32 = b.getF32Type();
  Type numberType = op.getOperand(1).getType();
  Fragment numbers = result;
  for (size_t i = 0; i < kept; ++i) {
    Value v = arith::BitcastOp::create(b, loc, f32, flip(found[i]));
    if (type != f32)
      v = arith::TruncFOp::create(b, loc, type, v);
    result.values.push_back(v);
    v = found[kept + i];
    if (isNumber && numberType.isIndex())
      v = arith::IndexCastOp::create(b, loc, numberType, v);
    else if (isNumber && !numberType.isInteger(32))
      v = arith::ExtSIOp::create(b, loc, numberType, v);
    numbers.values.push_back(v);
  }
  return {result, numbers};
}

SmallVector<Fragment> LargestSelector::run() {
  // What is left, then the values and the numbers found: of an empty place the
  // identities.
  SmallVector<Value> state = readElements();
  size_t size = state.size();
  Value lowest = place.constant(
      b.getF32FloatAttr(-std::numeric_limits<float>::infinity()));
  state.append(kept,
               flip(arith::BitcastOp::create(b, loc, b.getI32Type(), lowest)));
  state.append(kept, none);
  state = emitFor(b, loc, place.index(0), place.extents[rank], place.index(1),
                  state, [&](Value at, ValueRange now) {
                    SmallVector<Value> next(now);
                    SmallVector<Found> ofRows;
                    for (size_t row = 0; row < numRows(); ++row)
                      ofRows.push_back(bestOfThread(now, row));
                    agree(ofRows);
                    for (size_t row = 0; row < numRows(); ++row)
                      take(ofRows[row], row, at, now, next);
                    return next;
                  });
  return resultsOf(ArrayRef(state).drop_front(size));
}

SmallVector<Fragment> FragmentReducer::selectLargest(ReduceOp op) {
  return LargestSelector(b, loc, place, emitter, *this, op).run();
}
