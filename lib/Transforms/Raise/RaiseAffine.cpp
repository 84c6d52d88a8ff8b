//===- RaiseAffine.cpp - bodies affine in an accumulator ------------------===//
#include "redfuse/Transforms/Raise/RaiseAffine.h"

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace redfuse;

bool redfuse::isAffineIn(Value value, Value accumulator,
                         const llvm::DenseSet<Value> &dependent) {
  if (!dependent.contains(value) || value == accumulator)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false; // Another accumulator.
  auto isAffine = [&](Value v) {
    return isAffineIn(v, accumulator, dependent);
  };
  auto isFree = [&](Value v) { return !dependent.contains(v); };
  if (isa<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp,
          arith::NegFOp>(op))
    return llvm::all_of(op->getOperands(), isAffine);
  if (isa<arith::MulFOp, arith::MulIOp>(op))
    return (isFree(op->getOperand(0)) && isAffine(op->getOperand(1))) ||
           (isFree(op->getOperand(1)) && isAffine(op->getOperand(0)));
  if (isa<arith::DivFOp>(op))
    return isAffine(op->getOperand(0)) && isFree(op->getOperand(1));
  if (auto fma = dyn_cast<math::FmaOp>(op))
    return isAffine(fma.getC()) &&
           ((isFree(fma.getA()) && isAffine(fma.getB())) ||
            (isFree(fma.getB()) && isAffine(fma.getA())));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return isFree(select.getCondition()) && isAffine(select.getTrueValue()) &&
           isAffine(select.getFalseValue());
  return false;
}

namespace {
/// A number that may be known to be 0 or 1.
struct Coefficient {
  enum Kind { Zero, One, Other } kind = Zero;
  Value value;
};

/// scale * accumulator + offset; keeps: whether the accumulator is there.
struct Form {
  Coefficient scale, offset, keeps;
};

class FormBuilder {
public:
  FormBuilder(OpBuilder &b, Location loc, Value accumulator,
              const llvm::DenseSet<Value> &dependent, IRMapping &mapping)
      : b(b), loc(loc), accumulator(accumulator), dependent(dependent),
        mapping(mapping), type(accumulator.getType()) {}

  Form of(Value v);

  Value materialize(Coefficient c) {
    if (c.kind == Coefficient::Other)
      return c.value;
    bool isOne = c.kind == Coefficient::One;
    TypedAttr attr = isa<FloatType>(type)
                         ? TypedAttr(b.getFloatAttr(type, isOne ? 1 : 0))
                         : TypedAttr(b.getIntegerAttr(type, isOne ? 1 : 0));
    return arith::ConstantOp::create(b, loc, attr);
  }

private:
  bool isFree(Value v) const { return !dependent.contains(v); }
  Value free(Value v) const { return mapping.lookupOrDefault(v); }
  Coefficient other(Value v) const { return {Coefficient::Other, v}; }

  Coefficient add(Coefficient x, Coefficient y) {
    if (x.kind == Coefficient::Zero)
      return y;
    if (y.kind == Coefficient::Zero)
      return x;
    return other(
        createCombiner(b, loc, Reducer::Add, materialize(x), materialize(y)));
  }
  Coefficient either(Coefficient x, Coefficient y) {
    if (x.kind == Coefficient::Zero || y.kind == Coefficient::One)
      return y;
    if (y.kind == Coefficient::Zero || x.kind == Coefficient::One)
      return x;
    return other(createCombiner(b, loc, Reducer::MaximumF, x.value, y.value));
  }
  Coefficient negate(Coefficient x) {
    if (x.kind == Coefficient::Zero)
      return x;
    Value v = materialize(x);
    if (isa<FloatType>(type))
      return other(arith::NegFOp::create(b, loc, v));
    return other(arith::SubIOp::create(b, loc, materialize({}), v));
  }
  Coefficient multiply(Coefficient x, Value factor) {
    if (x.kind == Coefficient::Zero)
      return x;
    if (x.kind == Coefficient::One)
      return other(factor);
    return other(createCombiner(b, loc, Reducer::Mul, x.value, factor));
  }

  OpBuilder &b;
  Location loc;
  Value accumulator;
  const llvm::DenseSet<Value> &dependent;
  IRMapping &mapping;
  Type type;
};
} // namespace

Form FormBuilder::of(Value v) {
  if (v == accumulator)
    return {{Coefficient::One, {}}, {}, {Coefficient::One, {}}};
  if (isFree(v))
    return {{}, other(free(v)), {}};
  Operation *op = v.getDefiningOp();
  if (isa<arith::NegFOp>(op)) {
    Form x = of(op->getOperand(0));
    return {negate(x.scale), negate(x.offset), x.keeps};
  }
  if (isa<arith::AddFOp, arith::AddIOp>(op)) {
    Form x = of(op->getOperand(0)), y = of(op->getOperand(1));
    return {add(x.scale, y.scale), add(x.offset, y.offset),
            either(x.keeps, y.keeps)};
  }
  if (isa<arith::SubFOp, arith::SubIOp>(op)) {
    Form x = of(op->getOperand(0)), y = of(op->getOperand(1));
    // One subtraction where that is all there is.
    Coefficient offset;
    if (x.offset.kind != Coefficient::Zero &&
        y.offset.kind != Coefficient::Zero) {
      Value l = materialize(x.offset), r = materialize(y.offset);
      offset = other(isa<FloatType>(type)
                         ? Value(arith::SubFOp::create(b, loc, l, r))
                         : Value(arith::SubIOp::create(b, loc, l, r)));
    } else {
      offset = add(x.offset, negate(y.offset));
    }
    return {add(x.scale, negate(y.scale)), offset, either(x.keeps, y.keeps)};
  }
  auto times = [&](Value lhs, Value rhs) {
    Value factor = isFree(lhs) ? lhs : rhs;
    Form x = of(isFree(lhs) ? rhs : lhs);
    return Form{multiply(x.scale, free(factor)),
                multiply(x.offset, free(factor)), x.keeps};
  };
  if (isa<arith::MulFOp, arith::MulIOp>(op))
    return times(op->getOperand(0), op->getOperand(1));
  if (isa<arith::DivFOp>(op)) {
    Form x = of(op->getOperand(0));
    Value divisor = free(op->getOperand(1));
    auto divide = [&](Coefficient c) {
      return c.kind == Coefficient::Zero
                 ? c
                 : other(
                       arith::DivFOp::create(b, loc, materialize(c), divisor));
    };
    Coefficient scale = divide(x.scale);
    return {scale, divide(x.offset), x.keeps};
  }
  if (auto fma = dyn_cast<math::FmaOp>(op)) {
    Form y = of(fma.getC());
    bool isPlain = isFree(fma.getA()) && isFree(fma.getB());
    Form x =
        isPlain
            ? Form{{},
                   other(createCombiner(b, loc, Reducer::Mul, free(fma.getA()),
                                        free(fma.getB()))),
                   {}}
            : times(fma.getA(), fma.getB());
    return {add(x.scale, y.scale), add(x.offset, y.offset),
            either(x.keeps, y.keeps)};
  }
  auto select = cast<arith::SelectOp>(op);
  Value condition = free(select.getCondition());
  Form x = of(select.getTrueValue()), y = of(select.getFalseValue());
  auto choose = [&](Coefficient onTrue, Coefficient onFalse) {
    if (onTrue.kind == onFalse.kind && onTrue.kind != Coefficient::Other)
      return onTrue;
    Value t = materialize(onTrue), f = materialize(onFalse);
    return other(arith::SelectOp::create(b, loc, condition, t, f));
  };
  Coefficient scale = choose(x.scale, y.scale);
  Coefficient offset = choose(x.offset, y.offset);
  if (!isa<FloatType>(type))
    return {scale, offset, {Coefficient::One, {}}};
  return {scale, offset, choose(x.keeps, y.keeps)};
}

AffineForm redfuse::buildAffineForm(OpBuilder &b, Location loc, Value value,
                                    Value accumulator,
                                    const llvm::DenseSet<Value> &dependent,
                                    IRMapping &mapping) {
  FormBuilder builder(b, loc, accumulator, dependent, mapping);
  Form form = builder.of(value);
  AffineForm result;
  if (form.scale.kind != Coefficient::One)
    result.scale = builder.materialize(form.scale);
  if (form.offset.kind != Coefficient::Zero)
    result.offset = builder.materialize(form.offset);
  if (form.keeps.kind == Coefficient::Other)
    result.keeps = form.keeps.value;
  return result;
}

void redfuse::buildAffineComposition(OpBuilder &b, Location loc, Region &region,
                                     Type type, bool isFinite, bool hasKeeps) {
  OpBuilder::InsertionGuard guard(b);
  unsigned size = hasKeeps ? 3 : 2;
  SmallVector<Type> types(2 * size, type);
  SmallVector<Location> locs(2 * size, loc);
  Block *block = b.createBlock(&region, {}, types, locs);
  Value a0 = block->getArgument(0), b0 = block->getArgument(1);
  Value a1 = block->getArgument(size), b1 = block->getArgument(size + 1);
  Value scale = createCombiner(b, loc, Reducer::Mul, a0, a1);
  Value moved = createCombiner(b, loc, Reducer::Mul, a1, b0);
  Value offset = createCombiner(b, loc, Reducer::Add, moved, b1);
  auto isEqual = [&](Value v, double value) -> Value {
    Value constant =
        arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
    return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, v,
                                 constant);
  };
  if (!isFinite) {
    // The identity hands on what follows as it is: infinity * 0 is not 0.
    Value isIdentity =
        arith::AndIOp::create(b, loc, isEqual(a0, 1), isEqual(b0, 0));
    auto choice = arith::SelectOp::create(b, loc, isIdentity, b1, offset);
    choice->setAttr(kIdentityAttr, b.getUnitAttr());
    offset = choice;
  }
  SmallVector<Value> results{scale, offset};
  if (hasKeeps) {
    Value keeps0 = block->getArgument(2), keeps1 = block->getArgument(5);
    results[1] =
        arith::SelectOp::create(b, loc, isEqual(keeps1, 0), b1, offset);
    results.push_back(createCombiner(b, loc, Reducer::Mul, keeps0, keeps1));
  }
  YieldOp::create(b, loc, results);
}
