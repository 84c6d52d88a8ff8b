//===- FragmentPlace.cpp - where the elements of a thread are -------------===//
#include "FragmentPlace.h"

using namespace mlir;
using namespace redfuse;

using Kind = Fragment::Kind;

Value FragmentPlace::constant(TypedAttr attr) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(entry);
  return arith::ConstantOp::create(b, loc, attr);
}

Fragment FragmentPlace::shapeOf(const SmallBitVector &dims) const {
  Fragment shape;
  shape.rows = layout.rows;
  bool hasRows = dims.test(plan.m), hasColumns = false;
  for (unsigned d : dims.set_bits())
    if (d != plan.m && plan.isColumn(d)) {
      shape.dim = d;
      hasColumns = true;
    }
  shape.kind = hasRows ? (hasColumns ? Kind::Matrix : Kind::Row)
                       : (hasColumns ? Kind::Column : Kind::Uniform);
  return shape;
}

size_t FragmentPlace::sizeOf(const Fragment &shape) const {
  switch (shape.kind) {
  case Kind::Uniform:
    return 1;
  case Kind::Row:
    return layout.rows;
  case Kind::Column:
    return plan.widths.lookup(shape.dim) / layout.lanes;
  case Kind::Matrix:
    return layout.rows * plan.widths.lookup(shape.dim) / layout.lanes;
  }
  llvm_unreachable("unknown kind");
}

Fragment FragmentPlace::join(const Fragment &x, const Fragment &y) const {
  bool hasRows = x.kind == Kind::Row || x.kind == Kind::Matrix ||
                 y.kind == Kind::Row || y.kind == Kind::Matrix;
  Fragment result;
  result.rows = layout.rows;
  bool hasColumns = false;
  for (const Fragment *f : {&x, &y})
    if (f->kind == Kind::Column || f->kind == Kind::Matrix) {
      hasColumns = true;
      result.dim = f->dim;
    }
  result.kind = hasRows ? (hasColumns ? Kind::Matrix : Kind::Row)
                        : (hasColumns ? Kind::Column : Kind::Uniform);
  return result;
}

Value FragmentPlace::elementFor(const Fragment &f, const Fragment &shape,
                                size_t i) {
  switch (shape.kind) {
  case Kind::Uniform:
    return f.values[0];
  case Kind::Row:
    return f.kind == Kind::Row ? f.values[i] : f.values[0];
  case Kind::Column:
    return f.kind == Kind::Column ? f.values[i] : f.values[0];
  case Kind::Matrix:
    return f.at(i);
  }
  llvm_unreachable("unknown kind");
}

Value FragmentPlace::rowAt(size_t half) {
  Value row = offsets[plan.m];
  return half == 0 ? row
                   : Value(arith::AddIOp::create(
                         b, loc, row, index(half * (32 / layout.lanes))));
}

/// How far behind the thread's first column another one is.
int64_t FragmentPlace::stepOf(size_t column) const {
  return int64_t(column) / 2 * 2 * layout.lanes + column % 2;
}

/// `column` counts what a thread has.
Value FragmentPlace::columnAt(unsigned d, size_t column) {
  Value t = arith::AndIOp::create(b, loc, lane, ptx.i32(layout.lanes - 1));
  Value twice = arith::AddIOp::create(b, loc, t, t);
  Value own = arith::IndexCastUIOp::create(b, loc, b.getIndexType(), twice);
  Value base =
      offsets[d] ? Value(arith::AddIOp::create(b, loc, offsets[d], own)) : own;
  int64_t step = stepOf(column);
  return step == 0 ? base
                   : Value(arith::AddIOp::create(b, loc, base, index(step)));
}

bool FragmentPlace::isRagged(unsigned d) const {
  if (isWholeTile && d == plan.stream)
    return false;
  int64_t extent = space.staticExtents[d];
  if (ends[d] || ShapedType::isDynamic(extent))
    return true;
  int64_t tile = d == plan.m ? plan.rows() : plan.widths.lookup(d);
  // A cluster has all of its tiles, also of what ends in the middle of them.
  return extent % (tile * plan.clusterOf(d)) != 0;
}

Value FragmentPlace::columnsLeft(unsigned d) {
  if (!isRagged(d))
    return {};
  Value left = arith::SubIOp::create(b, loc, (ends[d] ? ends[d] : extents[d]),
                                     columnAt(d, 0));
  // No more than fits a word; a tile has fewer columns.
  left = arith::MinSIOp::create(b, loc, left, index(1 << 20));
  left = arith::MaxSIOp::create(b, loc, left, index(0));
  return arith::IndexCastOp::create(b, loc, b.getI32Type(), left);
}

Value FragmentPlace::isInside(Value left, size_t column) {
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                               ptx.i32(stepOf(column)), left);
}

/// The index of element `i` in every dim. Clamped: inside the tensor, whether the
/// element exists or not.
SmallVector<Value> FragmentPlace::positionsAt(const Fragment &shape, size_t i,
                                              bool isClamped) {
  SmallVector<Value> positions;
  auto clamp = [&](unsigned d, Value at) -> Value {
    if (!isClamped || !isRagged(d))
      return at;
    Value last = arith::SubIOp::create(b, loc, extents[d], index(1));
    return arith::MinSIOp::create(b, loc, at, last);
  };
  bool hasRows = shape.kind == Kind::Row || shape.kind == Kind::Matrix;
  bool hasColumns = shape.kind == Kind::Column || shape.kind == Kind::Matrix;
  for (unsigned d = 0; d < space.numDims; ++d) {
    if (d == plan.m && hasRows)
      positions.push_back(
          clamp(d, rowAt(shape.kind == Kind::Row ? i : shape.rowOf(i))));
    else if (hasColumns && d == shape.dim)
      positions.push_back(clamp(
          d, columnAt(d, shape.kind == Kind::Column ? i : shape.columnOf(i))));
    else
      positions.push_back(offsets[d] ? offsets[d] : index(0));
  }
  return positions;
}

Fragment FragmentPlace::indexOf(unsigned d) {
  SmallBitVector dims(space.numDims);
  dims.set(d);
  Fragment result = shapeOf(dims);
  size_t size = sizeOf(result);
  for (size_t i = 0; i < size; ++i)
    result.values.push_back(positionsAt(result, i, /*isClamped=*/false)[d]);
  return result;
}
