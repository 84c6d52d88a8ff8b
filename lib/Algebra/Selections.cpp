//===- Selections.cpp - the best of a monotone function of data -----------===//
#include "Deriver.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace redfuse;

namespace {
/// How a value is a strictly monotone function of data alone.
struct StrictlyMonotone {
  Value data;
  bool isDecreasing = false;
};

/// Follows values down to data through ops that are strictly monotone in it over
/// the reals, whatever the reduced values are.
class Peeler {
public:
  Peeler(const Roles &roles, ReduceOp reduce, bool isApproximate)
      : roles(roles), over(toDimSet(reduce.getOver(), roles.getOver().size())),
        isList(reduce.getReducer() == Reducer::TopK),
        isApproximate(isApproximate) {}

  std::optional<StrictlyMonotone> peel(Value value, RefusalReason &why) const;

private:
  bool isStrict(Operation *op, Value mixed, Value other, bool &flips) const;
  /// A factor that is not 0. A list has no place for values that an infinite
  /// one makes NaN at one end of the data.
  bool isScale(Value v) const {
    return v && roles.isNonNegative(v) && roles.isNonZero(v) &&
           (!isList || roles.isBounded(v));
  }

  const Roles &roles;
  SmallBitVector over;
  bool isList, isApproximate;
};
} // namespace

/// Whether `op` rounds to 16 bits or fewer, which makes ties: where it narrows, and
/// where it computes in such a type.
static bool makesTies(Operation *op) {
  auto type = dyn_cast<FloatType>(op->getResult(0).getType());
  return isa<arith::TruncFOp>(op) || (type && type.getWidth() < 32);
}

bool Peeler::isStrict(Operation *op, Value mixed, Value other,
                      bool &flips) const {
  if (makesTies(op) && !isApproximate && !op->hasAttr(kApproximateAttr) &&
      !isa<arith::NegFOp>(op))
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<arith::AddFOp, arith::ExtFOp, math::ExpOp, math::Exp2Op>(
          [](auto) { return true; })
      .Case([&](arith::SubFOp sub) {
        flips = sub.getRhs() == mixed;
        return true;
      })
      .Case([&](arith::NegFOp) { return flips = true; })
      .Case([&](arith::MulFOp) { return isScale(other); })
      .Case([&](arith::DivFOp div) {
        return div.getLhs() == mixed && isScale(other);
      })
      .Case([](arith::TruncFOp) { return true; })
      .Default([](Operation *) { return false; });
}

std::optional<StrictlyMonotone> Peeler::peel(Value value,
                                             RefusalReason &why) const {
  StrictlyMonotone m;
  while (roles[value] == Role::Mixed) {
    Operation *op = value.getDefiningOp();
    Value mixed, other;
    unsigned numMixed = 0;
    bool isConstant = true;
    for (Value v : op->getOperands()) {
      bool usesOver = roles[v] == Role::Mixed || roles[v] == Role::Data;
      (usesOver ? mixed : other) = v;
      numMixed += usesOver;
      isConstant &= usesOver || !roles.getDims()[v].anyCommon(over);
    }
    bool flips = false;
    if (numMixed != 1 || !isConstant || !isStrict(op, mixed, other, flips)) {
      if (makesTies(op))
        why = {op, "selection",
               "the selected values are narrowed, which makes ties that the "
               "data does not have",
               "narrow after the selection, or allow approximation"};
      else
        why = {op, "selection",
               "'" + op->getName().getStringRef().str() +
                   "' is not strictly increasing in the data for every "
                   "reduced value",
               "select on data alone"};
      return std::nullopt;
    }
    m.isDecreasing ^= flips;
    value = roles.canonical(mixed);
  }
  m.data = value;
  return m;
}

bool Deriver::addSelection(ReduceOp reduce) {
  Value key = roles.canonical(reduce.getOperands()[0]);
  Value index = roles.canonical(reduce.getOperands()[1]);
  if (roles[index] != Role::Data && roles[index] != Role::Free)
    return refuse(reduce, "selection",
                  "the index mixes data with reduced values",
                  "select by an index that is computed from data alone");
  if (options.strict)
    return refuse(reduce, "strict",
                  "selecting on the data takes no account of ties that "
                  "rounding makes",
                  "allow reassociation (leave out strict)");
  RefusalReason reason;
  std::optional<StrictlyMonotone> m =
      Peeler(roles, reduce, options.approximate).peel(key, reason);
  if (!m) {
    why.push_back(reason);
    return false;
  }
  bool isList = reduce.getReducer() == Reducer::TopK;
  if (isList && m->isDecreasing)
    return refuse(reduce, "selection",
                  "the largest of values that fall where the data grows: the "
                  "smallest of the data, of which there is no list",
                  "negate the data before the reductions");
  Reducer best = reduce.getReducer(), worst = Reducer::ArgMin;
  if (best == Reducer::ArgMin)
    worst = Reducer::ArgMax;
  if (m->isDecreasing)
    std::swap(best, worst);
  note("a selection is made on the data: rounding makes no ties");
  SmallVector<Value> elements{m->data, index};
  ArrayRef<int64_t> over = reduce.getOver();
  Stage stage;
  stage.reduce = reduce;
  stage.kind = Stage::Kind::Selection;
  stage.data = m->data;
  stage.first = addJointComponents(reduce, best, elements, over);
  // Where a reduced value is infinite or NaN all values can be equal or NaN, or
  // those at one end NaN: then the index is that of the first of them.
  if (!isList)
    stage.worst = addJointComponents(reduce, worst, elements, over);
  Component lowest = makeComponent(Reducer::MinSI, index.getType(), over,
                                   roles.getDims()[index]);
  lowest.data.push_back({index, 1});
  stage.lowest = addComponent(std::move(lowest));
  if (roles.canBeEmpty(over))
    stage.count = addCount(over);
  result.stages.push_back(stage);
  return true;
}
