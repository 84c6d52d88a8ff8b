//===- FragmentMath.cpp - arithmetic of fragments -------------------------===//
#include "FragmentMath.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Pivots.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>

using namespace mlir;
using namespace redfuse;

using Kind = Fragment::Kind;

/// Whether an op rounds f32 to 16 bits, with which the body computes on (in f32, too:
/// LLVM may narrow that).
static bool isRoundedToCompute(Operation *def) {
  auto narrow = dyn_cast<arith::TruncFOp>(def);
  return narrow && narrow.getIn().getType().isF32() &&
         narrow.getType().getIntOrFloatBitWidth() == 16 &&
         llvm::any_of(def->getUsers(), [](Operation *user) {
           return !isa<YieldOp, ReduceOp>(user);
         });
}

/// Two values are rounded by one instruction. (Single ones ptxas may move among
/// running products, which it then serialises, where arithmetic or stores of single
/// elements follow.)
Fragment FragmentMath::roundPairs(Type element, const Fragment &x) {
  Fragment result = x;
  for (size_t i = 0; i + 1 < x.values.size(); i += 2) {
    Value pair = ptx.pack(element, x.values[i], x.values[i + 1]);
    pair = vector::FromElementsOp::create(
        b, loc, VectorType::get({1}, b.getI32Type()), pair);
    pair =
        vector::BitCastOp::create(b, loc, VectorType::get({2}, element), pair);
    for (int64_t k : {0, 1})
      result.values[i + k] = vector::ExtractOp::create(b, loc, pair, k);
  }
  return result;
}

Fragment FragmentMath::apply(Operation *def, ArrayRef<Fragment> given) {
  SmallVector<Fragment> operands(given);
  if (isRoundedToCompute(def) && given[0].values.size() % 2 == 0)
    return roundPairs(def->getResult(0).getType(), given[0]);
  if (auto cmp = dyn_cast<arith::CmpIOp>(def))
    place.narrow(cmp, operands);
  bool isF32 = def->getResult(0).getType().isF32();
  if (isa<math::ExpOp, math::Exp2Op>(def) && isF32)
    return exponential(def, operands[0]);
  if (auto div = dyn_cast<arith::DivFOp>(def); div && isF32)
    return divide(div, operands[0], operands[1]);
  Fragment result;
  for (const Fragment &operand : operands)
    result = place.join(result, operand);
  size_t size = place.sizeOf(result);
  for (size_t i = 0; i < size; ++i) {
    SmallVector<Value> elements;
    for (const Fragment &operand : operands)
      elements.push_back(place.elementFor(operand, result, i));
    result.values.push_back(emitElement(def, elements));
  }
  return result;
}

Value FragmentMath::emitElement(Operation *def, ArrayRef<Value> operands) {
  IRMapping mapping;
  for (auto [from, to] : llvm::zip_equal(def->getOperands(), operands))
    mapping.map(from, to);
  Operation *made = b.clone(*def, mapping);
  // A product and a sum may be one instruction: one rounding less. Not so a
  // difference: a product less its own maximum would not be 0 at the maximum, but
  // the rounding error of that, whose exponential can overflow.
  bool isDifference = llvm::any_of(def->getOperands(), [](Value v) {
    return v.getDefiningOp<arith::NegFOp>();
  });
  if (isa<arith::MulFOp, arith::AddFOp>(made) && !isDifference)
    made->setAttr("fastmath",
                  arith::FastMathFlagsAttr::get(
                      b.getContext(), arith::FastMathFlags::contract));
  return made->getResult(0);
}

/// exp(x) is 2 to the power of x * log2(e), of the exponential unit.
Fragment FragmentMath::exponential(Operation *def, const Fragment &x) {
  Fragment result = x;
  result.values.clear();
  Value scale = place.constant(b.getF32FloatAttr(1.44269504088896340736f));
  for (Value element : x.values) {
    if (isa<math::ExpOp>(def))
      element = arith::MulFOp::create(b, loc, element, scale);
    result.values.push_back(ptx.exp2(element));
  }
  return result;
}

/// The constant by which a distance from a pivot is multiplied, and the distance.
std::pair<float, arith::SubFOp>
FragmentMath::getDistance(Operation *exponential) {
  float k = isa<math::ExpOp>(exponential) ? 1.44269504088896340736f : 1.0f;
  Value exponent = exponential->getOperand(0);
  if (auto scaled = matchScaled(exponent)) {
    k = float(double(k) * scaled->by);
    exponent = scaled->value;
  }
  return {k, exponent.getDefiningOp<arith::SubFOp>()};
}

Value redfuse::getPivotOfExponential(Operation *exponential) {
  return FragmentMath::getDistance(exponential).second.getRhs();
}

/// exp(c * (x - p)) is 2 to the power of x * k - p * k, k = c * log2(e), with one
/// rounding. So it is relative to p * k as rounded, in every tile alike, which is
/// as good a pivot as p. It would not be where the rounding error of p * k is a
/// large exponent itself: there k is a power of 2, and p * k exact. Neighbours
/// among the values of x are so far apart then that their exponentials are 0.
ExponentialScale FragmentMath::scaleOfExponential(Operation *def,
                                                  const Fragment &pivot) {
  constexpr float kExact = 1 << 29;
  float k = getDistance(def).first;
  ExponentialScale result{pivot, pivot};
  result.by.values.clear();
  result.from.values.clear();
  Value exact = place.constant(b.getF32FloatAttr(k));
  Value power =
      place.constant(b.getF32FloatAttr(std::exp2(std::floor(std::log2(k)))));
  Value limit = place.constant(b.getF32FloatAttr(kExact));
  for (Value v : pivot.values) {
    Value most =
        math::AbsFOp::create(b, loc, arith::MulFOp::create(b, loc, v, exact));
    Value isNear =
        arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT, most, limit);
    Value by = arith::SelectOp::create(b, loc, isNear, exact, power);
    result.by.values.push_back(by);
    result.from.values.push_back(
        arith::NegFOp::create(b, loc, arith::MulFOp::create(b, loc, v, by)));
  }
  return result;
}

Fragment FragmentMath::exponential(const Fragment &x,
                                   const ExponentialScale &scale) {
  Fragment result = place.join(x, scale.from);
  for (size_t i = 0, size = place.sizeOf(result); i < size; ++i) {
    Value by = place.elementFor(scale.by, result, i),
          from = place.elementFor(scale.from, result, i);
    Value of = place.elementFor(x, result, i);
    // Rows are pivots before: rounded as they were then.
    Value y = result.kind == Fragment::Kind::Matrix
                  ? Value(math::FmaOp::create(b, loc, of, by, from))
                  : Value(arith::AddFOp::create(
                        b, loc, arith::MulFOp::create(b, loc, of, by), from));
    result.values.push_back(ptx.exp2(y));
  }
  return result;
}

Value FragmentMath::isAbove(const Fragment &value, const Fragment &limit) {
  Value result;
  for (size_t i = 0; i < value.values.size(); ++i) {
    Value one = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UGT,
                                      value.values[i],
                                      place.elementFor(limit, value, i));
    result = result ? Value(arith::OrIOp::create(b, loc, result, one)) : one;
  }
  return ptx.isAny(result);
}

/// The constant that a value is, if its reciprocal is a normal number.
static std::optional<float> getDivisor(Value v) {
  auto constant = v.getDefiningOp<arith::ConstantOp>();
  auto attr = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  if (!attr || !attr.getType().isF32())
    return std::nullopt;
  float value = attr.getValue().convertToFloat();
  if (!std::isnormal(value) || !std::isnormal(1.0f / value))
    return std::nullopt;
  return value;
}

/// Division of a whole matrix: by a constant it is a product with the reciprocal
/// (rounded once more), and by what a row shares it becomes one
/// (redfuse-expand-math); else the division that is exact to two units, or exact where it
/// is quantised.
Fragment FragmentMath::divide(arith::DivFOp div, const Fragment &x,
                              const Fragment &y) {
  Fragment result = place.join(x, y);
  std::optional<float> divisor;
  bool isExact = div->hasAttr(kRoundsAttr);
  if (plan.fold)
    divisor = getDivisor(div.getRhs());
  Value reciprocal;
  if (divisor)
    reciprocal =
        place.constant(b.getF32FloatAttr(float(1.0 / double(*divisor))));
  for (size_t i = 0, size = place.sizeOf(result); i < size; ++i) {
    Value top = place.elementFor(x, result, i),
          bottom = place.elementFor(y, result, i);
    if (divisor)
      result.values.push_back(product(top, reciprocal));
    else if (result.kind == Kind::Matrix && y.kind != Kind::Row &&
             y.kind != Kind::Uniform && !isExact)
      result.values.push_back(ptx.divide(top, bottom));
    else
      result.values.push_back(arith::DivFOp::create(b, loc, top, bottom));
    if (auto own = result.values.back().getDefiningOp<arith::DivFOp>();
        own && isExact)
      own->setAttr(kRoundsAttr, b.getUnitAttr());
  }
  return result;
}

/// What is left of a fold, x * f / y, where y and f (if there is one) are rows: a
/// multiple of x, by f times the reciprocal of y. Where the reciprocal would overflow
/// or be subnormal, y is scaled by a power of two first, and x with it.
Fragment FragmentMath::divideRows(Fragment x,
                                  const std::optional<Fragment> &factor,
                                  const Fragment &y) {
  auto f32 = [&](float v) { return place.constant(b.getF32FloatAttr(v)); };
  auto compare = [&](arith::CmpFPredicate how, Value v, float limit) -> Value {
    return arith::CmpFOp::create(b, loc, how, v, f32(limit));
  };
  SmallVector<Value> scales, multiples;
  Value isScaled;
  for (auto [row, v] : llvm::enumerate(y.values)) {
    Value size = math::AbsFOp::create(b, loc, v);
    Value isSmall = compare(arith::CmpFPredicate::OLT, size, 0x1p-64f);
    Value isLarge = compare(arith::CmpFPredicate::OGT, size, 0x1p64f);
    Value scale =
        arith::SelectOp::create(b, loc, isLarge, f32(0x1p-64f), f32(1));
    scale = arith::SelectOp::create(b, loc, isSmall, f32(0x1p64f), scale);
    Value inverse = ptx.divide(f32(1), product(v, scale));
    scales.push_back(scale);
    multiples.push_back(factor ? product(inverse, factor->values[row])
                               : inverse);
    Value one = arith::OrIOp::create(b, loc, isSmall, isLarge);
    isScaled =
        isScaled ? Value(arith::OrIOp::create(b, loc, isScaled, one)) : one;
  }
  // In most warps no row is scaled.
  auto branch = scf::IfOp::create(b, loc, ValueRange(x.values).getTypes(),
                                  ptx.isAny(isScaled), /*withElse=*/true);
  auto yield = [&](Block *block, bool isScaled) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block);
    SmallVector<Value> values;
    for (auto [i, v] : llvm::enumerate(x.values)) {
      size_t row = x.rowOf(i);
      Value top = isScaled ? product(v, scales[row]) : v;
      values.push_back(product(top, multiples[row]));
    }
    scf::YieldOp::create(b, loc, values);
  };
  yield(branch.thenBlock(), true);
  yield(branch.elseBlock(), false);
  x.values.assign(branch.getResults().begin(), branch.getResults().end());
  return x;
}

Value FragmentMath::product(Value x, Value y) {
  return arith::MulFOp::create(
      b, loc, x, y,
      arith::FastMathFlagsAttr::get(b.getContext(),
                                    arith::FastMathFlags::contract));
}

/// What a value is a positive multiple of, and by how much.
std::pair<Value, Value> FragmentMath::scaleOf(Value v) {
  auto positive = [&](Value c) -> Value {
    auto constantOp = c.getDefiningOp<arith::ConstantOp>();
    auto attr =
        constantOp ? dyn_cast<FloatAttr>(constantOp.getValue()) : FloatAttr();
    if (!attr || !attr.getType().isF32() ||
        !(attr.getValue().convertToFloat() > 0) || !attr.getValue().isNormal())
      return {};
    return place.constant(attr);
  };
  Operation *def = v.getDefiningOp();
  if (auto mul = dyn_cast_or_null<arith::MulFOp>(def)) {
    if (Value scale = positive(mul.getRhs()))
      return {mul.getLhs(), scale};
    if (Value scale = positive(mul.getLhs()))
      return {mul.getRhs(), scale};
  }
  if (auto div = dyn_cast_or_null<arith::DivFOp>(def); div && plan.fold)
    if (std::optional<float> divisor = getDivisor(div.getRhs());
        divisor && *divisor > 0)
      return {div.getLhs(),
              place.constant(b.getF32FloatAttr(float(1.0 / double(*divisor))))};
  return {};
}
