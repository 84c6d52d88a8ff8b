//===- MatrixMasks.cpp - what a predicate leaves of the streamed dim ------===//
#include "MatrixMasks.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace redfuse;

Value MatrixMasks::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value MatrixMasks::add(Value x, Value y) {
  return b.createOrFold<arith::AddIOp>(loc, x, y);
}

Value MatrixMasks::negate(Value x) {
  return b.createOrFold<arith::SubIOp>(loc, index(0), x);
}

MatrixMasks::Range MatrixMasks::whole() {
  unsigned d = *plan.stream;
  return {index(0), place.ends[d] ? place.ends[d] : place.extents[d]};
}

MatrixMasks::Range MatrixMasks::intersect(Range x, Range y) {
  return {b.createOrFold<arith::MaxSIOp>(loc, x.begin, y.begin),
          b.createOrFold<arith::MinSIOp>(loc, x.end, y.end)};
}

std::optional<MatrixMasks::Linear> MatrixMasks::linear(Value v) {
  if (auto at = v.getDefiningOp<IndexOp>()) {
    if (at.getDim() == *plan.stream)
      return Linear{1, 0, index(0)};
    if (at.getDim() == plan.m)
      return Linear{0, 1, index(0)};
  }
  Operation *def = v.getDefiningOp();
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(def))
    return linear(def->getOperand(0));
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(def)) {
    auto x = linear(def->getOperand(0)), y = linear(def->getOperand(1));
    if (!x || !y)
      return std::nullopt;
    int64_t sign = isa<arith::AddIOp>(def) ? 1 : -1;
    return Linear{x->a + sign * y->a, x->b + sign * y->b,
                  add(x->rest, sign > 0 ? y->rest : negate(y->rest))};
  }
  if (place.shapeOf(sets[v]).kind != Fragment::Kind::Uniform)
    return std::nullopt;
  Value value = emitter.get(v).values[0];
  if (!value.getType().isIndex())
    value = b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), value);
  return Linear{0, 0, value};
}

/// Where a comparison holds (or not) for some row, or for all rows.
MatrixMasks::Range MatrixMasks::compare(arith::CmpIOp cmp, bool wanted,
                                        bool isCertain) {
  Range unknown = isCertain ? Range{index(0), index(0)} : whole();
  std::optional<Linear> x = linear(cmp.getLhs()), y = linear(cmp.getRhs());
  if (!x || !y)
    return unknown;
  arith::CmpIPredicate predicate =
      wanted ? cmp.getPredicate() : arith::invertPredicate(cmp.getPredicate());
  // difference >= least, or -difference >= least.
  SmallVector<std::pair<int64_t, int64_t>> bounds;
  switch (predicate) {
  case arith::CmpIPredicate::sge:
    bounds = {{1, 0}};
    break;
  case arith::CmpIPredicate::sgt:
    bounds = {{1, 1}};
    break;
  case arith::CmpIPredicate::sle:
    bounds = {{-1, 0}};
    break;
  case arith::CmpIPredicate::slt:
    bounds = {{-1, 1}};
    break;
  case arith::CmpIPredicate::eq:
    bounds = {{1, 0}, {-1, 0}};
    break;
  default:
    return unknown;
  }
  Range result = whole();
  for (auto [sign, least] : bounds) {
    int64_t a = sign * (x->a - y->a), row = sign * (x->b - y->b);
    if (a < -1 || a > 1 || row < -1 || row > 1)
      return unknown;
    Value rest = add(x->rest, negate(y->rest));
    if (sign < 0)
      rest = negate(rest);
    // The rows that allow most, or least.
    if (row != 0) {
      Value at = (row > 0) != isCertain ? lastRow : firstRow;
      rest = add(rest, row > 0 ? at : negate(at));
    }
    rest = add(rest, index(-least));
    // a * stream + rest >= 0.
    Range part = whole();
    if (a > 0)
      part.begin = negate(rest);
    else if (a < 0)
      part.end = add(rest, index(1));
    else
      part.end = arith::SelectOp::create(
          b, loc,
          arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, rest,
                                index(0)),
          part.end, index(0));
    result = intersect(result, part);
  }
  return result;
}

MatrixMasks::Range MatrixMasks::rangeOf(Value condition, bool wanted,
                                        bool isCertain) {
  if (auto cmp = condition.getDefiningOp<arith::CmpIOp>())
    return compare(cmp, wanted, isCertain);
  Range nothing{index(0), index(0)};
  if (matchPattern(condition, m_Constant()))
    return matchPattern(condition, m_One()) == wanted ? whole() : nothing;
  Operation *def = condition.getDefiningOp();
  if (auto flip = dyn_cast<arith::XOrIOp>(def)) {
    if (matchPattern(flip.getRhs(), m_One()))
      return rangeOf(flip.getLhs(), !wanted, isCertain);
    return isCertain ? nothing : whole();
  }
  Range x = rangeOf(def->getOperand(0), wanted, isCertain);
  Range y = rangeOf(def->getOperand(1), wanted, isCertain);
  if (isa<arith::AndIOp>(def) == wanted)
    return intersect(x, y);
  if (!isCertain)
    return {b.createOrFold<arith::MinSIOp>(loc, x.begin, y.begin),
            b.createOrFold<arith::MaxSIOp>(loc, x.end, y.end)};
  // Either of them; the longer one.
  auto length = [&](Range r) { return add(r.end, negate(r.begin)); };
  Value first = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge,
                                      length(x), length(y));
  return {arith::SelectOp::create(b, loc, first, x.begin, y.begin),
          arith::SelectOp::create(b, loc, first, x.end, y.end)};
}

MatrixMasks::Range MatrixMasks::possible(Value first, Value last) {
  firstRow = first;
  lastRow = last;
  Range result = whole();
  for (StreamMask mask : masks)
    if (mask.maySkip)
      result = intersect(
          result, rangeOf(mask.select.getCondition(), mask.keeps, false));
  return result;
}

MatrixMasks::Range MatrixMasks::certain(Value first, Value last) {
  firstRow = first;
  lastRow = last;
  Range result = whole();
  for (StreamMask mask : masks)
    result = intersect(result,
                       rangeOf(mask.select.getCondition(), mask.keeps, true));
  return result;
}
