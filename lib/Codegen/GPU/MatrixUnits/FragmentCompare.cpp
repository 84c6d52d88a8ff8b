//===- FragmentCompare.cpp - comparisons of positions in tiles ------------===//
#include "FragmentPlace.h"

#include <limits>

using namespace mlir;
using namespace redfuse;

using Kind = Fragment::Kind;

/// What an integer made of indices cannot exceed in magnitude.
double FragmentPlace::boundOf(Value v) const {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  Operation *def = v.getDefiningOp();
  if (auto at = dyn_cast_or_null<IndexOp>(def)) {
    // Tiles reach beyond the end.
    int64_t extent = space.staticExtents[at.getDim()];
    return ShapedType::isDynamic(extent) ? kUnknown : double(extent) + 4096;
  }
  if (auto value = getConstantIntValue(getAsOpFoldResult(v)))
    return std::abs(double(*value));
  if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(def))
    return boundOf(def->getOperand(0));
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(def))
    return boundOf(def->getOperand(0)) + boundOf(def->getOperand(1));
  return kUnknown;
}

namespace {
/// What is linear in positions.
struct LinearPosition {
  SmallVector<int64_t> factors;
  int64_t constant = 0;

  /// Adds `v` so many times; false if it is not linear.
  bool add(Value v, int64_t times) {
    Operation *def = v.getDefiningOp();
    if (auto at = dyn_cast_or_null<IndexOp>(def)) {
      factors[at.getDim()] += times;
      return true;
    }
    if (auto value = getConstantIntValue(getAsOpFoldResult(v))) {
      constant += times * *value;
      return true;
    }
    if (isa_and_nonnull<arith::IndexCastOp, arith::ExtSIOp>(def))
      return add(def->getOperand(0), times);
    if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(def))
      return add(def->getOperand(0), times) &&
             add(def->getOperand(1), isa<arith::SubIOp>(def) ? -times : times);
    return false;
  }
};
} // namespace

/// A comparison of sums of positions, one of them a column's: where the thread's first
/// column is is subtracted once, and what is left is compared with a constant for each
/// of its columns. (Sums for each would also be so many induction variables to LLVM.)
std::optional<Fragment> FragmentPlace::compare(arith::CmpIOp cmp) {
  using P = arith::CmpIPredicate;
  P predicate = cmp.getPredicate();
  Type type = cmp.getLhs().getType();
  if (!llvm::is_contained({P::eq, P::ne, P::slt, P::sle, P::sgt, P::sge},
                          predicate) ||
      (!type.isIndex() && !type.isInteger(64)) ||
      !(boundOf(cmp.getLhs()) + boundOf(cmp.getRhs()) < double(1 << 30)))
    return std::nullopt;
  LinearPosition difference;
  difference.factors.assign(space.numDims, 0);
  if (!difference.add(cmp.getLhs(), 1) || !difference.add(cmp.getRhs(), -1))
    return std::nullopt;
  SmallBitVector dims(space.numDims);
  unsigned columns = 0;
  for (unsigned d = 0; d < space.numDims; ++d)
    if (difference.factors[d]) {
      dims.set(d);
      columns += d != plan.m && plan.isColumn(d);
    }
  if (columns != 1)
    return std::nullopt;
  Fragment result = shapeOf(dims);
  Fragment first;
  first.rows = layout.rows;
  first.kind = result.kind == Kind::Matrix ? Kind::Row : Kind::Uniform;
  for (size_t half = 0, n = sizeOf(first); half < n; ++half) {
    Value sum = ptx.i32(difference.constant);
    for (unsigned d : dims.set_bits()) {
      Value at = d == plan.m       ? rowAt(half)
                 : d == result.dim ? columnAt(d, 0)
                 : offsets[d]      ? offsets[d]
                                   : index(0);
      at = arith::IndexCastOp::create(b, loc, b.getI32Type(), at);
      int64_t factor = difference.factors[d];
      if (std::abs(factor) != 1)
        at = arith::MulIOp::create(b, loc, at, ptx.i32(std::abs(factor)));
      sum = factor > 0 ? Value(arith::AddIOp::create(b, loc, sum, at))
                       : Value(arith::SubIOp::create(b, loc, sum, at));
    }
    first.values.push_back(sum);
  }
  for (size_t i = 0, n = sizeOf(result); i < n; ++i) {
    int64_t step = stepOf(result.kind == Kind::Column ? i : result.columnOf(i));
    result.values.push_back(
        arith::CmpIOp::create(b, loc, predicate, elementFor(first, result, i),
                              ptx.i32(-step * difference.factors[result.dim])));
  }
  return result;
}

/// Comparisons of positions take half the instructions in 32 bits.
void FragmentPlace::narrow(arith::CmpIOp cmp,
                           MutableArrayRef<Fragment> operands) {
  Type type = cmp.getLhs().getType(), i32 = b.getI32Type();
  if (!type.isIndex() && !type.isInteger(64))
    return;
  for (Value v : cmp.getOperands())
    if (!(boundOf(v) < double(1 << 30)))
      return;
  for (Fragment &operand : operands)
    for (Value &v : operand.values)
      v = type.isIndex() ? Value(arith::IndexCastOp::create(b, loc, i32, v))
                         : Value(arith::TruncIOp::create(b, loc, i32, v));
}
