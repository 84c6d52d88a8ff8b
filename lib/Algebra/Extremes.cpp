//===- Extremes.cpp - reducers other than sums ----------------------------===//
//-----------------------------===//
#include "Deriver.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace redfuse;

/// A reduced integer leaves the product as its n-th power: integers that wrap are
/// a ring.
bool Deriver::addIntegerProduct(ReduceOp reduce) {
  RefusalReason ignored;
  ChoiceRef choice = form.of(reduce.getOperands()[0], ignored);
  std::optional<int64_t> count = roles.getCount(reduce.getOver());
  if (!choice || !choice->isSum() || choice->sum.size() != 1 || !count ||
      *count == 0 || *count > std::numeric_limits<int>::max())
    return false;
  const Term &term = choice->sum[0];
  SmallBitVector over = toDimSet(reduce.getOver(), roles.getOver().size());
  if (!term.differences.empty() || term.exponential || !term.inner.empty() ||
      std::fabs(term.scale) != 1 || dimsOf(term.done).anyCommon(over) ||
      llvm::any_of(term.done, [&](Factor f) {
        return f.exponent != 1 || f.function != Factor::Function::None;
      }))
    return false;
  StageTerm out;
  out.scale = *count % 2 == 0 ? 1 : term.scale;
  for (Factor f : term.done) {
    f.exponent = static_cast<int>(*count);
    out.done.push_back(f);
  }
  Component c = makeComponent(Reducer::Mul, reduce.getOperands()[0].getType(),
                              reduce.getOver(), dimsOf(term.data));
  c.data = term.data;
  out.component = addComponent(std::move(c));
  auto value = std::make_shared<StageChoice>();
  value->terms.push_back(std::move(out));
  Stage stage;
  stage.reduce = reduce;
  stage.value = value;
  result.stages.push_back(std::move(stage));
  note("a reduced integer leaves a product as a power");
  return true;
}

bool Deriver::addProduct(ReduceOp reduce) {
  Value operand = roles.canonical(reduce.getOperands()[0]);
  if (operand.getType().isInteger() && roles[operand] == Role::Mixed &&
      addIntegerProduct(reduce))
    return true;
  if (roles[operand] != Role::Data && roles[operand] != Role::Free)
    return refuse(reduce, "product",
                  "a product of values that mix data with reduced values: the "
                  "power of the reduced value can leave the type's range where "
                  "the product does not",
                  "take the reduced value out of the product");
  Component c =
      makeComponent(reduce.getReducer(), getAccumulatorType(operand.getType()),
                    reduce.getOver(), roles.getDims()[operand]);
  c.data.push_back({operand, 1});
  Stage stage;
  stage.reduce = reduce;
  stage.kind = Stage::Kind::Product;
  stage.first = addComponent(std::move(c));
  result.stages.push_back(stage);
  return true;
}

namespace {
/// How far a value is a monotone function of data alone.
struct Monotone {
  Value data;
  bool isDecreasing = false;
  /// The direction depends on a reduced value, or an infinity or NaN can come
  /// up inside the range: both ends have to be looked at.
  bool needsBothEnds = false;
};
} // namespace

/// Follows `value` down to data through ops that are monotone in it, whatever
/// the reduced values are.
static std::optional<Monotone> peel(const Roles &roles, Value value,
                                    Reducer reducer, RefusalReason &why) {
  Monotone m;
  bool isLogic = reducer == Reducer::And || reducer == Reducer::Or;
  while (roles[value] == Role::Mixed) {
    Operation *op = value.getDefiningOp();
    Value mixed, other;
    unsigned numMixed = 0;
    for (Value v : op->getOperands()) {
      bool usesOver = roles[v] == Role::Mixed || roles[v] == Role::Data;
      (usesOver ? mixed : other) = v;
      numMixed += usesOver;
    }
    bool isMonotone =
        numMixed == 1 &&
        llvm::TypeSwitch<Operation *, bool>(op)
            .Case<arith::AddFOp>([&](auto) { return m.needsBothEnds = true; })
            .Case([&](arith::SubFOp sub) {
              m.isDecreasing ^= sub.getRhs() == mixed;
              return m.needsBothEnds = true;
            })
            .Case([&](arith::MulFOp) {
              m.needsBothEnds = true;
              // As below: 0 times what is infinite is NaN.
              return roles.isBounded(other) || roles.isNonNegative(mixed);
            })
            .Case([&](arith::DivFOp div) {
              m.needsBothEnds = true;
              // Between values of both signs there may be a 0, and 0/0 is NaN.
              return div.getLhs() == mixed &&
                     (roles.isNonZero(other) || roles.isNonNegative(mixed));
            })
            .Case([&](arith::NegFOp) {
              m.isDecreasing = !m.isDecreasing;
              return true;
            })
            .Case<arith::ExtFOp, arith::TruncFOp, math::ExpOp, math::Exp2Op,
                  math::TanhOp, math::FloorOp, math::CeilOp, math::RoundOp,
                  math::RoundEvenOp, math::TruncOp, arith::MaximumFOp,
                  arith::MinimumFOp, arith::MaxSIOp, arith::MinSIOp,
                  arith::MaxUIOp, arith::MinUIOp>([](auto) { return true; })
            .Case([&](arith::AndIOp) {
              return isLogic || reducer == Reducer::Xor;
            })
            .Case([&](arith::OrIOp) { return isLogic; })
            .Case([&](arith::SelectOp select) {
              return select.getCondition() != mixed;
            })
            .Default([](Operation *) { return false; });
    if (!isMonotone) {
      why = {op, "not monotone",
             "'" + op->getName().getStringRef().str() +
                 "' is not monotone in the data for every reduced value",
             "apply it after the reduction"};
      return std::nullopt;
    }
    value = roles.canonical(mixed);
  }
  m.data = value;
  return m;
}

/// The reducer that finds the other end of a range, if there is one.
static std::optional<Reducer> getOpposite(Reducer reducer) {
  switch (reducer) {
  case Reducer::MaximumF:
    return Reducer::MinimumF;
  case Reducer::MinimumF:
    return Reducer::MaximumF;
  case Reducer::MaxSI:
    return Reducer::MinSI;
  case Reducer::MinSI:
    return Reducer::MaxSI;
  case Reducer::MaxUI:
    return Reducer::MinUI;
  case Reducer::MinUI:
    return Reducer::MaxUI;
  default:
    return std::nullopt;
  }
}

bool Deriver::addExtreme(ReduceOp reduce) {
  Reducer reducer = reduce.getReducer();
  RefusalReason reason;
  std::optional<Monotone> m =
      peel(roles, roles.canonical(reduce.getOperands()[0]), reducer, reason);
  if (!m) {
    why.push_back(reason);
    return false;
  }
  std::optional<Reducer> opposite = getOpposite(reducer);
  bool isPlain = roles.canonical(reduce.getOperands()[0]) == m->data;
  // A reduced value that is NaN makes all elements NaN, all of them dropped.
  if (!isPlain && !opposite &&
      isa<FloatType>(reduce.getOperands()[0].getType()))
    return refuse(reduce, "not monotone",
                  "'" + stringifyReducer(reducer).str() +
                      "' drops NaN, so that the ends of the data do not tell "
                      "its result",
                  "use the reducer that hands NaN on");
  Component c = makeComponent(reducer, m->data.getType(), reduce.getOver(),
                              roles.getDims()[m->data]);
  c.data.push_back({m->data, 1});
  Stage stage;
  stage.reduce = reduce;
  stage.kind = Stage::Kind::Endpoints;
  stage.data = m->data;
  Component other = c;
  if (opposite)
    other.reducer = *opposite;
  stage.first = addComponent(m->isDecreasing && !m->needsBothEnds ? other : c);
  if (m->needsBothEnds)
    stage.second = addComponent(other);
  if (!isPlain && roles.canBeEmpty(reduce.getOver()))
    stage.count = addCount(reduce.getOver());
  result.stages.push_back(stage);
  return true;
}
