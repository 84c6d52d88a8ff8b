//===- NormalForm.cpp - bodies as sums of products ------------------------===//
#include "redfuse/Algebra/NormalForm.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace redfuse;

/// Limits that keep the derivation polynomial.
static constexpr unsigned kMaxTerms = 16;
static constexpr unsigned kMaxBranches = 8;
static constexpr int kMaxPower = 8;

void redfuse::multiplyInto(SmallVectorImpl<Factor> &factors, Factor factor) {
  for (Factor &f : factors)
    if (f.value == factor.value && f.function == factor.function &&
        (f.exponent > 0) == (factor.exponent > 0)) {
      f.exponent += factor.exponent;
      return;
    }
  factors.push_back(factor);
}

static std::shared_ptr<Choice> makeSum(Sum sum) {
  auto result = std::make_shared<Choice>();
  result->sum = std::move(sum);
  return result;
}

static std::nullopt_t refuse(RefusalReason &why, Operation *op,
                             StringRef condition, std::string detail,
                             StringRef remedy) {
  why = {op, condition, std::move(detail), remedy};
  return std::nullopt;
}

/// Exact on numbers, but not on rounded ones: casts between floats that keep at
/// least the digits of bf16.
static bool isFloatNarrowing(arith::TruncFOp op) {
  return op.getOut().getType().getIntOrFloatBitWidth() >= 16;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Sum redfuse::expandLinear(const Sum &sum) {
  Sum result;
  for (const Term &term : sum) {
    if (term.differences.size() != 1 || term.differences[0].power != 1 ||
        !term.inner.empty()) {
      result.push_back(term);
      continue;
    }
    const Difference &difference = term.differences[0];
    auto addAll = [&](const Linear &linear, bool isData) {
      for (const Monomial &m : linear) {
        Term t = term;
        t.differences.clear();
        t.scale *= m.scale;
        for (Factor f : m.factors)
          multiplyInto(isData ? t.data : t.done, f);
        result.push_back(std::move(t));
      }
    };
    addAll(difference.data, true);
    addAll(difference.done, false);
  }
  return result;
}

Sum NormalForm::packed(const Sum &sum) const {
  if (sum.size() < 2)
    return sum;
  Difference difference;
  bool hasDone = false;
  for (const Term &term : expandLinear(sum)) {
    if (term.exponential || !term.differences.empty() || !term.inner.empty())
      return sum;
    bool usesDone =
        llvm::any_of(term.done, [&](Factor f) { return isDone(f.value); });
    Monomial m;
    m.scale = term.scale;
    m.factors = term.done;
    if (term.data.empty()) {
      difference.done.push_back(m);
      hasDone |= usesDone;
      continue;
    }
    if (usesDone)
      return sum;
    llvm::append_range(m.factors, term.data);
    difference.data.push_back(m);
  }
  if (difference.data.empty() || !hasDone)
    return sum;
  Term term;
  term.differences.push_back(std::move(difference));
  return {term};
}

std::optional<Sum> NormalForm::multiply(Operation *op, const Sum &lhs,
                                        const Sum &rhs, RefusalReason &why) {
  Sum a = packed(lhs), b = packed(rhs);
  if (a.size() > 1 && b.size() > 1)
    return refuse(why, op, "cancellation",
                  "the product of two sums that mix data with reduced values "
                  "has to be expanded, and its terms can cancel",
                  "reduce the terms separately, or keep the reduced value out "
                  "of one of the factors");
  if (a.size() * b.size() > kMaxTerms)
    return refuse(why, op, "rank",
                  "the contribution has more than " +
                      std::to_string(kMaxTerms) + " terms",
                  "split the expression");
  // Operands of a matrix product, which all rows share and which have dims of
  // their own, are parameters, and not infinite.
  auto cancels = [&](const Sum &sum, const Sum &factor) {
    SmallBitVector rows(roles.getOver().size()), dims = rows;
    bool isWeighted = false;
    for (const Term &t : sum)
      rows |= dimsOf(t);
    rows.reset(roles.getOver());
    for (const Term &t : factor)
      for (Factor f : t.data)
        if (isa<FloatType>(f.value.getType())) {
          isWeighted = true;
          dims |= roles.getDims()[f.value];
        }
    dims.reset(roles.getOver());
    return sum.size() > 1 && isWeighted &&
           (rows.none() || dims.none() || rows.anyCommon(dims));
  };
  if (cancels(a, b) || cancels(b, a))
    return refuse(why, op, "cancellation",
                  "a sum of data and reduced values is multiplied by data: "
                  "expanded, infinite data cancels to NaN",
                  "multiply before the sum, or reduce the terms separately");
  // An index that is summed over must not occur in the other factor.
  auto captures = [&](const Term &sum, const Term &other) {
    SmallBitVector dims = dimsOf(other);
    dims |= toDimSet(other.inner, dims.size());
    return dims.anyCommon(toDimSet(sum.inner, dims.size()));
  };
  Sum result;
  for (const Term &x : a)
    for (const Term &y : b) {
      if (captures(x, y) || captures(y, x))
        return refuse(why, op, "inner reduction",
                      "a sum over other dims is multiplied by a value that "
                      "depends on them",
                      "reduce those dims in a separate step");
      Term t = x;
      llvm::append_range(t.inner, y.inner);
      t.scale *= y.scale;
      for (Factor f : y.done)
        multiplyInto(t.done, f);
      for (Factor f : y.data)
        multiplyInto(t.data, f);
      for (const Difference &d : y.differences) {
        auto same = llvm::find_if(t.differences, [&](const Difference &o) {
          return o.data == d.data && o.done == d.done;
        });
        if (same == t.differences.end()) {
          t.differences.push_back(d);
          continue;
        }
        same->power += d.power;
        if (same->power > kMaxPower)
          return refuse(why, op, "rank",
                        "a power of a difference above " +
                            std::to_string(kMaxPower),
                        "use a lower power");
      }
      if (y.exponential && t.exponential) {
        if (y.exponential->isBase2 != t.exponential->isBase2)
          return refuse(why, op, "exponential",
                        "a product of exponentials of different bases",
                        "use math.exp or math.exp2 in both");
        llvm::append_range(t.exponential->data, y.exponential->data);
        llvm::append_range(t.exponential->done, y.exponential->done);
        note("exp(a)*exp(b) = exp(a+b)");
      } else if (y.exponential) {
        t.exponential = y.exponential;
      }
      result.push_back(std::move(t));
    }
  if (a.size() > 1 || b.size() > 1)
    note("(a+b)*c = a*c + b*c", Rule::Kind::Expansion);
  return result;
}

std::optional<Sum> NormalForm::invert(Operation *op, const Sum &sum,
                                      RefusalReason &why) {
  Sum a = packed(sum);
  if (a.size() != 1 || !a[0].differences.empty() || a[0].scale == 0 ||
      !a[0].inner.empty())
    return refuse(why, op, "quotient",
                  "the divisor is a sum of data and reduced values",
                  "divide by data or by reduced values alone");
  Term t = a[0];
  t.scale = 1 / t.scale;
  for (auto *factors : {&t.done, &t.data})
    for (Factor &f : *factors)
      f.exponent = -f.exponent;
  if (t.exponential)
    for (Linear *linear : {&t.exponential->data, &t.exponential->done})
      for (Monomial &m : *linear)
        m.scale = -m.scale;
  return Sum{t};
}

std::optional<Sum> NormalForm::power(Operation *op, const Sum &sum,
                                     int exponent, RefusalReason &why) {
  if (exponent < 1 || exponent > kMaxPower)
    return refuse(why, op, "rank",
                  "a power of " + std::to_string(exponent) +
                      " of a value that mixes data with reduced values",
                  "powers from 1 to 8 have a merge");
  Sum result = sum;
  for (int i = 1; i < exponent; ++i) {
    std::optional<Sum> next = multiply(op, result, sum, why);
    if (!next)
      return std::nullopt;
    result = std::move(*next);
  }
  return result;
}

std::optional<Sum> NormalForm::exponential(Operation *op, const Sum &sum,
                                           RefusalReason &why) {
  Exponential e;
  e.isBase2 = isa<math::Exp2Op>(op);
  for (const Term &term : expandLinear(sum)) {
    if (term.exponential || !term.differences.empty() || !term.inner.empty())
      return refuse(why, op, "exponent",
                    "the exponent is not a sum of data and reduced values",
                    "only exp(data + reduced values) has a merge");
    Monomial m;
    m.scale = term.scale;
    m.factors = term.done;
    if (term.data.empty()) {
      e.done.push_back(std::move(m));
      continue;
    }
    if (llvm::any_of(term.done, [&](Factor f) { return isDone(f.value); }))
      return refuse(why, op, "exponent",
                    "data is multiplied or divided by a reduced value inside "
                    "an exponential",
                    "only exp(data + reduced values) has a merge");
    llvm::append_range(m.factors, term.data);
    e.data.push_back(std::move(m));
  }
  Term t;
  t.exponential = std::move(e);
  return Sum{t};
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

std::optional<Sum> NormalForm::applyUnary(Operation *op, const Sum &sum,
                                          RefusalReason &why) {
  if (isa<arith::ExtFOp>(op))
    return sum;
  if (mayApproximate(op)) {
    note("approximate: rounding is taken for the identity",
         Rule::Kind::Approximation);
    return sum;
  }
  if (auto trunc = dyn_cast<arith::TruncFOp>(op)) {
    if (!isFloatNarrowing(trunc))
      return refuse(why, op, "quantisation",
                    "a value that mixes data with reduced values is narrowed "
                    "to a type of less than 16 bits",
                    "quantise after the reduction, or allow approximation");
    if (trunc->hasAttr(kRoundsAttr) && !isApproximate)
      return refuse(why, op, "rounding",
                    "a value that mixes data with reduced values is rounded, "
                    "and the rounded one selected, counted, compared or "
                    "quantised as well",
                    "round after the reduction, or allow approximation");
    note("float narrowing of an accumulated term is dropped");
    return sum;
  }
  if (isa<arith::NegFOp>(op)) {
    Sum result = sum;
    for (Term &t : result)
      t.scale = -t.scale;
    return result;
  }
  if (isa<math::ExpOp, math::Exp2Op>(op))
    return exponential(op, sum, why);
  if (isa<math::AbsFOp>(op))
    return absolute(op, sum, why);
  if (isa<math::SqrtOp>(op))
    return squareRoot(op, sum, why);
  if (isa<math::RsqrtOp>(op)) {
    std::optional<Sum> root = squareRoot(op, sum, why);
    return root ? invert(op, *root, why) : std::nullopt;
  }
  if (isa<math::LogOp>(op))
    return logarithm(op, sum, why);
  if (isa<math::FPowIOp, math::PowFOp>(op)) {
    std::optional<double> n = getConstant(op->getOperand(1));
    if (!n || *n != std::trunc(*n))
      return refuse(why, op, "power", "the exponent is not a constant integer",
                    "use a constant integer power");
    return power(op, sum, static_cast<int>(*n), why);
  }
  if (isa<math::RoundOp, math::RoundEvenOp, math::FloorOp, math::CeilOp,
          math::TruncOp, arith::FPToSIOp, arith::FPToUIOp>(op))
    return refuse(why, op, "quantisation",
                  "a value that mixes data with reduced values is rounded",
                  "round after the reduction, or allow approximation");
  return refuse(why, op, "irreducible",
                "'" + op->getName().getStringRef().str() +
                    "' of a value that mixes data with reduced values is not "
                    "a sum of products",
                "apply it to data or to reduced values alone");
}

bool NormalForm::mayApproximate(Operation *op) const {
  if (!isApproximate && !op->hasAttr(kApproximateAttr))
    return false;
  if (auto trunc = dyn_cast<arith::TruncFOp>(op))
    return !isFloatNarrowing(trunc);
  return isa<math::RoundOp, math::RoundEvenOp, arith::FPToSIOp,
             arith::SIToFPOp>(op);
}

Value NormalForm::getClamped(Operation *op) const {
  if (!isApproximate && !op->hasAttr(kApproximateAttr))
    return {};
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    // select(v < c, c, v), or with another comparison.
    auto cmp = select.getCondition().getDefiningOp<arith::CmpFOp>();
    Value low = select.getTrueValue(), high = select.getFalseValue();
    if (!cmp || roles[cmp.getResult()] != Role::Mixed)
      return {};
    for (auto [v, c] : {std::pair(high, low), {low, high}})
      if (getConstant(c) &&
          ((cmp.getLhs() == v && getConstant(cmp.getRhs()) == getConstant(c)) ||
           (cmp.getRhs() == v && getConstant(cmp.getLhs()) == getConstant(c))))
        return v;
    return {};
  }
  if (isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp,
          arith::MinNumFOp>(op))
    for (unsigned i : {0, 1})
      if (getConstant(op->getOperand(i)))
        return op->getOperand(1 - i);
  return {};
}

std::optional<Sum> NormalForm::addSums(Operation *op, const Sum &lhs,
                                       const Sum &rhs, bool isSub,
                                       RefusalReason &why) {
  Sum result = lhs;
  for (Term t : rhs) {
    if (isSub)
      t.scale = -t.scale;
    result.push_back(std::move(t));
  }
  if (result.size() > kMaxTerms)
    return refuse(why, op, "rank",
                  "the contribution has more than " +
                      std::to_string(kMaxTerms) + " terms",
                  "split the expression");
  return result;
}

std::optional<Sum> NormalForm::applyBinary(Operation *op, const Sum &lhs,
                                           const Sum &rhs, RefusalReason &why) {
  if (isa<arith::AddFOp, arith::AddIOp, arith::SubFOp, arith::SubIOp>(op))
    return addSums(op, lhs, rhs, isa<arith::SubFOp, arith::SubIOp>(op), why);
  if (isa<arith::MulFOp, arith::MulIOp>(op))
    return multiply(op, lhs, rhs, why);
  if (isa<arith::DivFOp>(op)) {
    std::optional<Sum> inverse = invert(op, rhs, why);
    if (!inverse)
      return std::nullopt;
    return multiply(op, lhs, *inverse, why);
  }
  if (isa<arith::CmpFOp, arith::CmpIOp, arith::MaximumFOp, arith::MinimumFOp,
          arith::MaxNumFOp, arith::MinNumFOp, arith::MaxSIOp, arith::MinSIOp,
          arith::MaxUIOp, arith::MinUIOp>(op))
    return refuse(why, op, "comparison",
                  "data is compared with a reduced value",
                  "compare data with data, or reduced values after the "
                  "reduction");
  return refuse(why, op, "irreducible",
                "'" + op->getName().getStringRef().str() +
                    "' of a value that mixes data with reduced values is not "
                    "a sum of products",
                "apply it to data or to reduced values alone");
}

static unsigned countBranches(const Choice &choice) {
  return choice.isSum()
             ? 1
             : countBranches(*choice.onTrue) + countBranches(*choice.onFalse);
}

static ChoiceRef choose(Operation *op, Value predicate, ChoiceRef onTrue,
                        ChoiceRef onFalse, RefusalReason &why) {
  if (!onTrue || !onFalse)
    return nullptr;
  if (countBranches(*onTrue) + countBranches(*onFalse) > kMaxBranches) {
    refuse(why, op, "rank",
           "the contribution has more than " + std::to_string(kMaxBranches) +
               " branches",
           "use fewer selects");
    return nullptr;
  }
  auto result = std::make_shared<Choice>();
  result->predicate = predicate;
  result->onTrue = std::move(onTrue);
  result->onFalse = std::move(onFalse);
  return result;
}

ChoiceRef NormalForm::mapOne(Operation *op, ChoiceRef in, RefusalReason &why) {
  if (!in)
    return nullptr;
  if (!in->isSum())
    return choose(op, in->predicate, mapOne(op, in->onTrue, why),
                  mapOne(op, in->onFalse, why), why);
  std::optional<Sum> sum = applyUnary(op, in->sum, why);
  return sum ? makeSum(std::move(*sum)) : nullptr;
}

ChoiceRef NormalForm::mapTwo(Operation *op, ChoiceRef lhs, ChoiceRef rhs,
                             Binary combine, RefusalReason &why) {
  if (!lhs || !rhs)
    return nullptr;
  if (!lhs->isSum()) {
    bool isSame = rhs->predicate == lhs->predicate;
    return choose(
        op, lhs->predicate,
        mapTwo(op, lhs->onTrue, isSame ? rhs->onTrue : rhs, combine, why),
        mapTwo(op, lhs->onFalse, isSame ? rhs->onFalse : rhs, combine, why),
        why);
  }
  if (!rhs->isSum())
    return choose(op, rhs->predicate,
                  mapTwo(op, lhs, rhs->onTrue, combine, why),
                  mapTwo(op, lhs, rhs->onFalse, combine, why), why);
  std::optional<Sum> sum = combine(lhs->sum, rhs->sum);
  return sum ? makeSum(std::move(*sum)) : nullptr;
}

ChoiceRef NormalForm::multiplyAdd(Operation *op, RefusalReason &why) {
  ChoiceRef product = mapTwo(
      op, of(op->getOperand(0), why), of(op->getOperand(1), why),
      [&](const Sum &a, const Sum &b) { return multiply(op, a, b, why); }, why);
  return mapTwo(
      op, product, of(op->getOperand(2), why),
      [&](const Sum &a, const Sum &b) {
        return addSums(op, a, b, /*isSub=*/false, why);
      },
      why);
}

SmallBitVector NormalForm::dimsOf(const Term &term) const {
  SmallBitVector set(roles.getOver().size());
  auto addFactors = [&](ArrayRef<Factor> factors) {
    for (Factor f : factors)
      set |= roles.getDims()[f.value];
  };
  auto addLinear = [&](const Linear &linear) {
    for (const Monomial &m : linear)
      addFactors(m.factors);
  };
  addFactors(term.done);
  addFactors(term.data);
  for (const Difference &d : term.differences) {
    addLinear(d.data);
    addLinear(d.done);
  }
  if (term.exponential) {
    addLinear(term.exponential->data);
    addLinear(term.exponential->done);
  }
  for (auto &[predicate, side] : term.masks)
    set |= roles.getDims()[predicate];
  return set;
}

/// Whether a choice below depends on one of `dims`.
static bool choosesBy(const Roles &roles, const Choice &choice,
                      const SmallBitVector &dims) {
  return !choice.isSum() &&
         (roles.getDims()[choice.predicate].anyCommon(dims) ||
          choosesBy(roles, *choice.onTrue, dims) ||
          choosesBy(roles, *choice.onFalse, dims));
}

/// `choice` with every term summed over `dims`.
static ChoiceRef sumOver(const NormalForm &form, const Choice &choice,
                         ArrayRef<int64_t> dims) {
  auto result = std::make_shared<Choice>(choice);
  if (!choice.isSum()) {
    result->onTrue = sumOver(form, *choice.onTrue, dims);
    result->onFalse = sumOver(form, *choice.onFalse, dims);
    return result;
  }
  result->sum = form.packed(choice.sum);
  for (Term &t : result->sum)
    llvm::append_range(t.inner, dims);
  return result;
}

ChoiceRef NormalForm::innerSum(ReduceOp reduce, RefusalReason &why) {
  auto refuseIt = [&](StringRef detail) {
    refuse(why, reduce, "inner reduction", detail.str(),
           "fold its dims as well, or keep reduced values out of it");
    return nullptr;
  };
  if (reduce.getReducer() != Reducer::Add)
    return refuseIt("a reduction over other dims stands between the data and "
                    "the folded reduction");
  ChoiceRef in = of(reduce.getOperands()[0], why);
  if (!in)
    return nullptr;
  SmallBitVector dims = toDimSet(reduce.getOver(), roles.getOver().size());
  if (choosesBy(roles, *in, dims))
    return refuseIt("a choice depends on a dim that is summed before the "
                    "folded ones");
  note("sums over different dims are exchanged");
  return sumOver(*this, *in, reduce.getOver());
}

ChoiceRef NormalForm::compute(Operation *op, RefusalReason &why) {
  if (Value v = getClamped(op)) {
    note("approximate: saturation is taken for the identity",
         Rule::Kind::Approximation);
    return of(v, why);
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    if (roles[select.getCondition()] == Role::Mixed) {
      // A clamp: what is clamped may say more.
      if (!of(select.getTrueValue(), why) || !of(select.getFalseValue(), why))
        return nullptr;
      refuse(why, op, "comparison",
             "a choice depends on data compared with a reduced value",
             "choose by data or by reduced values alone");
      return nullptr;
    }
    return choose(op, roles.canonical(select.getCondition()),
                  of(select.getTrueValue(), why),
                  of(select.getFalseValue(), why), why);
  }
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return innerSum(reduce, why);
  if (isa<math::FmaOp>(op))
    return multiplyAdd(op, why);
  if (isa<math::FPowIOp, math::PowFOp>(op) || op->getNumOperands() == 1)
    return mapOne(op, of(op->getOperand(0), why), why);
  if (op->getNumOperands() == 2)
    return mapTwo(
        op, of(op->getOperand(0), why), of(op->getOperand(1), why),
        [&](const Sum &a, const Sum &b) { return applyBinary(op, a, b, why); },
        why);
  refuse(why, op, "irreducible",
         "'" + op->getName().getStringRef().str() +
             "' of a value that mixes data with reduced values is not a sum "
             "of products",
         "apply it to data or to reduced values alone");
  return nullptr;
}

ChoiceRef NormalForm::of(Value value, RefusalReason &why) {
  value = roles.canonical(value);
  if (ChoiceRef found = known.lookup(value))
    return found;
  ChoiceRef result;
  Role role = roles[value];
  if (role == Role::Mixed) {
    result = compute(value.getDefiningOp(), why);
  } else {
    Term t;
    (role == Role::Data ? t.data : t.done).push_back({value, 1});
    result = makeSum({t});
  }
  if (result)
    known[value] = result;
  return result;
}
