//===- BodyBuilder.cpp - builds bodies from those of a cascade ------------===//
#include "BodyBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace redfuse;

static bool isFloat(Value v) { return isa<FloatType>(v.getType()); }

Value BodyBuilder::clone(Value value, IRMapping &into) {
  value = roles.canonical(value);
  if (Value known = into.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != &source)
    return value; // From outside the body.
  for (Value operand : op->getOperands())
    if (!into.contains(operand))
      into.map(operand, clone(operand, into));
  b.clone(*op, into);
  return into.lookup(value);
}

Value BodyBuilder::get(Value value) { return clone(value, mapping); }

Value BodyBuilder::getWith(Value value, Value from, Value to) {
  IRMapping local = mapping;
  local.map(from, to);
  return clone(value, local);
}

void BodyBuilder::assertThat(cf::AssertOp assertion) {
  cf::AssertOp::create(b, assertion.getLoc(), get(assertion.getArg()),
                       assertion.getMsg());
}

Value BodyBuilder::cast(Value value, Type type) {
  Type from = value.getType();
  if (from == type)
    return value;
  bool toFloat = isa<FloatType>(type);
  if (isFloat(value) && toFloat) {
    unsigned have = from.getIntOrFloatBitWidth();
    unsigned want = type.getIntOrFloatBitWidth();
    if (have < want)
      return arith::ExtFOp::create(b, loc, type, value);
    if (have > want)
      return arith::TruncFOp::create(b, loc, type, value);
    // f16 and bf16: by way of f32.
    Value wide = arith::ExtFOp::create(b, loc, b.getF32Type(), value);
    return arith::TruncFOp::create(b, loc, type, wide);
  }
  if (from.isIndex() || type.isIndex()) {
    if (toFloat)
      return cast(arith::IndexCastOp::create(b, loc, b.getI64Type(), value),
                  type);
    return arith::IndexCastOp::create(b, loc, type, value);
  }
  if (toFloat)
    return arith::SIToFPOp::create(b, loc, type, value);
  if (from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtSIOp::create(b, loc, type, value);
  return arith::TruncIOp::create(b, loc, type, value);
}

Value BodyBuilder::constant(double value, Type type) {
  if (isa<FloatType>(type))
    return constant(b.getFloatAttr(type, value));
  return constant(b.getIntegerAttr(type, static_cast<int64_t>(value)));
}

Value BodyBuilder::constant(TypedAttr attr) {
  return arith::ConstantOp::create(b, loc, attr);
}

Value BodyBuilder::add(Value lhs, Value rhs) {
  return combine(Reducer::Add, lhs, rhs);
}
Value BodyBuilder::mul(Value lhs, Value rhs) {
  return combine(Reducer::Mul, lhs, rhs);
}
Value BodyBuilder::combine(Reducer reducer, Value lhs, Value rhs) {
  return createCombiner(b, loc, reducer, lhs, rhs);
}
Value BodyBuilder::sub(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::SubFOp::create(b, loc, lhs, rhs);
  return arith::SubIOp::create(b, loc, lhs, rhs);
}
Value BodyBuilder::div(Value lhs, Value rhs) {
  return arith::DivFOp::create(b, loc, lhs, rhs);
}
Value BodyBuilder::neg(Value v) {
  if (isFloat(v))
    return arith::NegFOp::create(b, loc, v);
  return sub(constant(0, v.getType()), v);
}
Value BodyBuilder::exp(Value v, bool isBase2) {
  if (isBase2)
    return math::Exp2Op::create(b, loc, v);
  return math::ExpOp::create(b, loc, v);
}
Value BodyBuilder::select(Value predicate, Value onTrue, Value onFalse) {
  return arith::SelectOp::create(b, loc, predicate, onTrue, onFalse);
}

Value BodyBuilder::isEqual(Value v, double value) {
  return isSame(v, constant(value, v.getType()));
}

Value BodyBuilder::isSame(Value lhs, Value rhs) {
  if (isFloat(lhs))
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, lhs, rhs);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, lhs, rhs);
}

Value BodyBuilder::isAbove(Value lhs, Value rhs) {
  if (!isFloat(lhs))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, lhs, rhs);
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, lhs, rhs);
}

Value BodyBuilder::isNan(Value v) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, v, v);
}

Value BodyBuilder::isNumber(Value v) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::ORD, v, v);
}

Value BodyBuilder::holds(ArrayRef<std::pair<Value, bool>> masks) {
  Value result;
  for (auto [predicate, side] : masks) {
    Value p = get(predicate);
    if (!side)
      p = arith::XOrIOp::create(b, loc, p, constant(1, p.getType()));
    result = result ? both(result, p) : p;
  }
  return result;
}

Value BodyBuilder::both(Value lhs, Value rhs) {
  return arith::AndIOp::create(b, loc, lhs, rhs);
}

Value BodyBuilder::isFinite(Value v) {
  Value infinity =
      constant(std::numeric_limits<double>::infinity(), v.getType());
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OLT,
                               math::AbsFOp::create(b, loc, v), infinity);
}

Value BodyBuilder::isInfinite(Value v) {
  return isEqual(math::AbsFOp::create(b, loc, v),
                 std::numeric_limits<double>::infinity());
}

std::pair<Value, Value> BodyBuilder::combinePair(Reducer reducer,
                                                 std::pair<Value, Value> lhs,
                                                 std::pair<Value, Value> rhs) {
  bool isMax = reducer == Reducer::ArgMax;
  auto [v0, i0] = lhs;
  auto [v1, i1] = rhs;
  Value better, equal;
  if (isFloat(v0)) {
    auto p = isMax ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT;
    better = arith::CmpFOp::create(b, loc, p, v1, v0);
    equal = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, v1, v0);
  } else {
    auto p = isMax ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt;
    better = arith::CmpIOp::create(b, loc, p, v1, v0);
    equal = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, v1, v0);
  }
  Value earlier =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, i1, i0);
  Value take = arith::OrIOp::create(
      b, loc, better, arith::AndIOp::create(b, loc, equal, earlier));
  return {select(take, v1, v0), select(take, i1, i0)};
}

SmallVector<Value> BodyBuilder::continueJoint(const Component &first,
                                              ValueRange state,
                                              ValueRange segment) {
  auto combining = llvm::cast<CombiningOpInterface>(first.joint);
  if (!combining.getOrdered())
    return combineJoint(first, state, segment);
  SmallVector<Value> operands(state);
  llvm::append_range(operands, segment);
  auto combine = CombineOp::create(b, loc, state.getTypes(), operands,
                                   combining.getIdentitiesAttr(),
                                   /*ordered=*/true);
  IRMapping none;
  combining.getCombine().cloneInto(&combine.getCombine(), none);
  return llvm::to_vector_of<Value>(combine.getResults());
}

SmallVector<Value> BodyBuilder::combineJoint(const Component &first,
                                             ValueRange lhs, ValueRange rhs) {
  auto combining = llvm::cast<CombiningOpInterface>(first.joint);
  if (combining.isDeclared())
    return inlineCombiner(b, combining.getCombine(), lhs, rhs);
  if (first.reducer != Reducer::TopK) {
    auto [value, index] =
        combinePair(first.reducer, {lhs[0], lhs[1]}, {rhs[0], rhs[1]});
    return {value, index};
  }
  // The dim that no operand has is the rank.
  SmallBitVector rank = toDimSet(first.into, roles.getOver().size());
  for (Value element : first.elements)
    rank.reset(roles.getDims()[element]);
  auto merge = MergeTopkOp::create(b, loc, lhs[0], lhs[1], rhs[0], rhs[1],
                                   rank.find_first());
  return {merge.getBestValues(), merge.getBestIndices()};
}

Value BodyBuilder::base(Factor factor, Type type) {
  Value v = cast(get(factor.value), type);
  switch (factor.function) {
  case Factor::Function::None:
    return v;
  case Factor::Function::Abs:
    return math::AbsFOp::create(b, loc, v);
  case Factor::Function::Sqrt:
    return math::SqrtOp::create(b, loc, v);
  case Factor::Function::Log:
    return math::LogOp::create(b, loc, v);
  }
  llvm_unreachable("all functions are handled");
}

Value BodyBuilder::product(Value start, ArrayRef<Factor> factors, double scale,
                           Type type) {
  Value result = start;
  if (scale != 1 && scale != -1) {
    Value c = constant(scale, type);
    result = result ? mul(result, c) : c;
  }
  for (Factor f : factors) {
    if (f.exponent < 0)
      continue;
    Value v = base(f, type);
    if (isFloat(v)) {
      for (int i = 0; i < f.exponent; ++i)
        result = result ? mul(result, v) : v;
      continue;
    }
    // Squares of squares: the exponents of integers can be long.
    for (int left = f.exponent; left > 0; left /= 2) {
      if (left % 2)
        result = result ? mul(result, v) : v;
      if (left > 1)
        v = mul(v, v);
    }
  }
  for (Factor f : factors) {
    if (f.exponent > 0)
      continue;
    Value v = base(f, type);
    for (int i = 0; i < -f.exponent; ++i)
      result = div(result ? result : constant(1, type), v);
  }
  if (!result)
    return constant(scale, type);
  return scale == -1 ? neg(result) : result;
}

Value BodyBuilder::sum(Value start, const Linear &linear, Type type) {
  Value result = start;
  for (const Monomial &m : linear) {
    if (result && m.scale < 0) {
      result = sub(result, product({}, m.factors, -m.scale, type));
      continue;
    }
    Value v = product({}, m.factors, m.scale, type);
    result = result ? add(result, v) : v;
  }
  return result ? result : constant(0, type);
}
