//===- LaggingPivots.cpp - folds that do not care which pivot they have ---===//
//
// A running maximum that is only a pivot may lag behind: the step, the merge and
// the finalisation then give the same result for any pivot. That is shown by
// degrees. A value is free of the pivot, or the pivot's multiple is added to it
// ("shift"), or it has a power of exp(pivot) as a factor ("power"); both are kept
// for each of the pivots that a body knows.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/LaggingPivots.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace redfuse;

/// A normal number that is a constant.
static std::optional<float> getNormalConstant(Value v) {
  auto constant = v.getDefiningOp<arith::ConstantOp>();
  auto attr = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  if (!attr || !attr.getType().isF32() || !attr.getValue().isNormal())
    return std::nullopt;
  return attr.getValue().convertToFloat();
}

std::optional<ScaledValue> redfuse::matchScaled(Value v) {
  if (auto mul = v.getDefiningOp<arith::MulFOp>()) {
    if (auto by = getNormalConstant(mul.getRhs()))
      return ScaledValue{mul.getLhs(), *by};
    if (auto by = getNormalConstant(mul.getLhs()))
      return ScaledValue{mul.getRhs(), *by};
  }
  if (auto div = v.getDefiningOp<arith::DivFOp>())
    if (auto by = getNormalConstant(div.getRhs());
        by && std::isnormal(float(1.0 / double(*by))))
      return ScaledValue{div.getLhs(), float(1.0 / double(*by))};
  return std::nullopt;
}

namespace {
constexpr unsigned kBodyPivots = 3;
using PivotVector = std::array<double, kBodyPivots>;

struct PivotDegree {
  PivotVector shift{}, power{};

  bool isFree() const { return isZero(shift) && isZero(power); }
  static bool isZero(const PivotVector &v) {
    return llvm::all_of(v, [](double x) { return std::abs(x) < 1e-6; });
  }
  bool operator==(const PivotDegree &other) const {
    for (unsigned i = 0; i < kBodyPivots; ++i)
      if (std::abs(shift[i] - other.shift[i]) > 1e-6 ||
          std::abs(power[i] - other.power[i]) > 1e-6)
        return false;
    return true;
  }
};

PivotVector addVectors(const PivotVector &x, const PivotVector &y,
                       double sign) {
  PivotVector result;
  for (unsigned i = 0; i < kBodyPivots; ++i)
    result[i] = x[i] + sign * y[i];
  return result;
}

PivotVector scaleVector(const PivotVector &x, double by) {
  return addVectors({}, x, by);
}

std::optional<double> floatConstantOf(Value v) {
  auto constant = v.getDefiningOp<arith::ConstantOp>();
  auto attr = constant ? dyn_cast<FloatAttr>(constant.getValue()) : FloatAttr();
  if (!attr)
    return std::nullopt;
  return attr.getValueAsDouble();
}

/// The degrees of a body's values; what is not known is not in the map.
class BodyDegrees {
public:
  explicit BodyDegrees(Block &body) : body(body) {}

  void set(Value v, PivotDegree degree) { known[v] = degree; }
  std::optional<PivotDegree> of(Value v) const {
    if (auto it = known.find(v); it != known.end())
      return it->second;
    if (v.getParentBlock() == &body)
      return std::nullopt;
    return PivotDegree();
  }

  /// Goes through the body; that of `given` is set already. False if a value
  /// has none, unless some arguments are not known yet.
  bool run(Value given, bool isPartial) {
    for (Operation &op : body.without_terminator()) {
      if (given && given.getDefiningOp() == &op)
        continue;
      std::optional<PivotDegree> degree = make(op, isPartial);
      if (!degree && !isPartial)
        return false;
      for (Value v : op.getResults()) {
        known.erase(v);
        if (degree)
          known[v] = *degree;
      }
    }
    return true;
  }

  /// The largest power of a pivot that a value has.
  double largest = 0;

private:
  std::optional<PivotDegree> make(Operation &op, bool isPartial);
  std::optional<PivotDegree> unify(Value x, Value y, bool isPartial);

  Block &body;
  DenseMap<Value, PivotDegree> known;
};
} // namespace

/// Of values that are added, compared or chosen between. Zeros and infinities
/// stay what they are.
std::optional<PivotDegree> BodyDegrees::unify(Value x, Value y,
                                              bool isPartial) {
  auto isFixed = [](Value v, const PivotDegree &other) {
    std::optional<double> c = floatConstantOf(v);
    return c &&
           (std::isinf(*c) || (*c == 0 && PivotDegree::isZero(other.shift)));
  };
  std::optional<PivotDegree> a = of(x), c = of(y);
  if (!a || !c)
    return isPartial ? (a ? a : c) : std::nullopt;
  if (*a == *c || isFixed(y, *a))
    return a;
  return isFixed(x, *c) ? c : std::nullopt;
}

std::optional<PivotDegree> BodyDegrees::make(Operation &op, bool isPartial) {
  auto operand = [&](unsigned i) { return of(op.getOperand(i)); };
  auto limited = [&](PivotDegree degree) {
    for (double p : degree.power)
      largest = std::max(largest, std::abs(p));
    return degree;
  };
  if (isa<arith::AddFOp, arith::SubFOp>(op)) {
    auto x = operand(0), y = operand(1);
    if (x && y && PivotDegree::isZero(x->power) &&
        PivotDegree::isZero(y->power))
      return PivotDegree{
          addVectors(x->shift, y->shift, isa<arith::SubFOp>(op) ? -1 : 1), {}};
    return unify(op.getOperand(0), op.getOperand(1), isPartial);
  }
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
          arith::MinNumFOp>(op))
    return unify(op.getOperand(0), op.getOperand(1), isPartial);
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    // The pivot, or a constant where it is infinite.
    auto cmp = select.getCondition().getDefiningOp<arith::CmpFOp>();
    auto abs = cmp ? cmp.getLhs().getDefiningOp<math::AbsFOp>() : nullptr;
    auto unscaled = [](Value v) {
      std::optional<ScaledValue> scaled = matchScaled(v);
      return scaled ? scaled->value : v;
    };
    if (abs && unscaled(abs.getOperand()) == unscaled(select.getFalseValue()) &&
        cmp.getPredicate() == arith::CmpFPredicate::OEQ &&
        std::isinf(floatConstantOf(cmp.getRhs()).value_or(0)) &&
        floatConstantOf(select.getTrueValue()))
      return of(select.getFalseValue());
    std::optional<PivotDegree> condition = of(select.getCondition());
    if (!condition || !condition->isFree())
      return std::nullopt;
    return unify(select.getTrueValue(), select.getFalseValue(), isPartial);
  }
  SmallVector<PivotDegree> all;
  for (Value v : op.getOperands()) {
    std::optional<PivotDegree> degree = of(v);
    if (!degree)
      return std::nullopt;
    all.push_back(*degree);
  }
  if (llvm::all_of(all, [](const PivotDegree &d) { return d.isFree(); }))
    return PivotDegree();
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return all[0];
  if (isa<arith::NegFOp>(op))
    return PivotDegree{scaleVector(all[0].shift, -1), all[0].power};
  if (isa<arith::MulFOp, arith::DivFOp>(op)) {
    bool isDiv = isa<arith::DivFOp>(op);
    if (PivotDegree::isZero(all[0].shift) && PivotDegree::isZero(all[1].shift))
      return limited(
          {{}, addVectors(all[0].power, all[1].power, isDiv ? -1 : 1)});
    for (unsigned i : {1u, 0u})
      if (auto by = floatConstantOf(op.getOperand(i));
          by && (i == 1 || !isDiv) && PivotDegree::isZero(all[1 - i].power))
        return PivotDegree{scaleVector(all[1 - i].shift, isDiv ? 1 / *by : *by),
                           {}};
    return std::nullopt;
  }
  if (isa<math::ExpOp, math::Exp2Op>(op) && PivotDegree::isZero(all[0].power))
    return limited(
        {{},
         scaleVector(all[0].shift, isa<math::Exp2Op>(op) ? std::log(2.0) : 1)});
  if (isa<math::LogOp, math::Log2Op>(op) && PivotDegree::isZero(all[0].shift))
    return PivotDegree{scaleVector(all[0].power, isa<math::Log2Op>(op)
                                                     ? 1 / std::log(2.0)
                                                     : 1),
                       {}};
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (reduce.getNumOperands() == 1 && PivotDegree::isZero(all[0].shift) &&
        llvm::is_contained({Reducer::Add, Reducer::MaximumF, Reducer::MinimumF},
                           reduce.getReducer()))
      return all[0];
    return std::nullopt;
  }
  if (isa<arith::CmpFOp>(op) && PivotDegree::isZero(all[0].shift) &&
      PivotDegree::isZero(all[1].shift) &&
      unify(op.getOperand(0), op.getOperand(1),
            /*isPartial=*/false))
    return PivotDegree();
  // A pivot that stays is infinite where the maximum is.
  auto isInfinite = [](Operation *user) {
    auto cmp = dyn_cast<arith::CmpFOp>(user);
    return cmp && std::isinf(floatConstantOf(cmp.getRhs()).value_or(0));
  };
  if (isa<math::AbsFOp>(op) && PivotDegree::isZero(all[0].power) &&
      llvm::all_of(op.getUsers(), isInfinite))
    return all[0];
  if (isInfinite(&op) && PivotDegree::isZero(all[0].power))
    return PivotDegree();
  return std::nullopt;
}

static PivotDegree shiftBy(unsigned pivot) {
  PivotDegree degree;
  degree.shift[pivot] = 1;
  return degree;
}

static PivotDegree powerOf(unsigned pivot, double power) {
  PivotDegree degree;
  degree.power[pivot] = power;
  return degree;
}

namespace {
/// Of one state of a fold.
class LazyPivot {
public:
  LazyPivot(FoldOp fold, FinalizeOp last, unsigned state)
      : fold(fold), last(last), state(state), powers(fold.getNumStates()) {}

  std::optional<double> run() {
    Block &step = *fold.getProgramBody(), &merge = fold.getMerge().front();
    unsigned count = powers.size();
    auto states = step.getArguments().take_back(count);
    auto yield = cast<YieldOp>(step.getTerminator());
    arith::MaximumFOp max = getRunningMaximum(fold, state);
    if (!max)
      return std::nullopt;
    double power = 0;
    for (bool isPartial : {true, false}) {
      BodyDegrees degrees(step);
      for (BlockArgument arg : step.getArguments().drop_back(count))
        degrees.set(arg, PivotDegree());
      // In the first round, states are what is added to them.
      for (auto [i, arg] : llvm::enumerate(states)) {
        if (i == state)
          degrees.set(arg, shiftBy(0));
        else if (!isPartial)
          degrees.set(arg, powerOf(0, powers[i]));
      }
      degrees.set(max, shiftBy(1));
      if (!degrees.run(max.getResult(), isPartial))
        return std::nullopt;
      Value other = max.getLhs() == states[state] ? max.getRhs() : max.getLhs();
      std::optional<PivotDegree> from = degrees.of(other);
      if (!from || !from->isFree())
        return std::nullopt;
      for (auto [i, v] : llvm::enumerate(yield.getValues())) {
        std::optional<PivotDegree> degree = degrees.of(v);
        if (i == state)
          continue;
        if (isPartial)
          powers[i] = degree ? degree->power[1] : 0;
        else if (!degree || !(*degree == powerOf(1, powers[i])))
          return std::nullopt;
      }
      power = degrees.largest;
    }
    if (!(power > 0) || !checkMerge(merge) || !checkResults())
      return std::nullopt;
    return power;
  }

private:
  bool checkMerge(Block &merge) {
    unsigned count = powers.size();
    auto yield = cast<YieldOp>(merge.getTerminator());
    Value max = yield.getValues()[state];
    auto op = max.getDefiningOp<arith::MaximumFOp>();
    Value x = merge.getArgument(state), y = merge.getArgument(count + state);
    if (!op || !((op.getLhs() == x && op.getRhs() == y) ||
                 (op.getLhs() == y && op.getRhs() == x)))
      return false;
    BodyDegrees degrees(merge);
    for (unsigned side : {0, 1})
      for (unsigned i = 0; i < count; ++i)
        degrees.set(merge.getArgument(side * count + i),
                    i == state ? shiftBy(side) : powerOf(side, powers[i]));
    degrees.set(max, shiftBy(2));
    if (!degrees.run(max, /*isPartial=*/false))
      return false;
    for (auto [i, v] : llvm::enumerate(yield.getValues())) {
      std::optional<PivotDegree> degree = degrees.of(v);
      if (i != state && (!degree || !(*degree == powerOf(2, powers[i]))))
        return false;
    }
    return true;
  }

  /// What is stored has to be free of the pivot, unless it is a state once more.
  bool checkResults() {
    auto lagging = last->getAttrOfType<DenseI64ArrayAttr>(kLaggingAttr);
    if (lagging && llvm::is_contained(lagging.asArrayRef(), int64_t(state)))
      return true;
    Block &body = *last.getProgramBody();
    BodyDegrees degrees(body);
    for (auto [i, input] : llvm::enumerate(last.getInputs())) {
      PivotDegree degree;
      if (input.getDefiningOp() == fold) {
        unsigned s = cast<OpResult>(input).getResultNumber();
        degree = s == state ? shiftBy(0) : powerOf(0, powers[s]);
      }
      degrees.set(body.getArgument(i), degree);
    }
    if (!degrees.run({}, /*isPartial=*/false))
      return false;
    return llvm::all_of(body.getTerminator()->getOperands(), [&](Value v) {
      std::optional<PivotDegree> degree = degrees.of(v);
      return degree && degree->isFree();
    });
  }

  FoldOp fold;
  FinalizeOp last;
  unsigned state;
  SmallVector<double> powers;
};
} // namespace

arith::MaximumFOp redfuse::getRunningMaximum(FoldOp fold, unsigned state) {
  Block &step = *fold.getProgramBody();
  Value before = step.getArguments().take_back(fold.getNumStates())[state];
  auto max = cast<YieldOp>(step.getTerminator())
                 .getValues()[state]
                 .getDefiningOp<arith::MaximumFOp>();
  bool isRunning = max && (max.getLhs() == before || max.getRhs() == before);
  return isRunning ? max : nullptr;
}

std::optional<double> redfuse::findPivotPower(FoldOp fold, FinalizeOp last,
                                              unsigned state) {
  auto identity = dyn_cast<FloatAttr>(fold.getIdentities()[state]);
  if (!identity || !identity.getType().isF32() ||
      !identity.getValue().isInfinity() || !identity.getValue().isNegative() ||
      fold.hasOutputs())
    return std::nullopt;
  return LazyPivot(fold, last, state).run();
}
