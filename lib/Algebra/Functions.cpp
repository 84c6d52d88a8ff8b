//===- Functions.cpp - functions of products, factor by factor ------------===//
#include "redfuse/Algebra/NormalForm.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace redfuse;

using Function = Factor::Function;

static std::nullopt_t refuse(RefusalReason &why, Operation *op,
                             StringRef condition, StringRef detail) {
  why = {op, condition, detail.str(),
         "apply it to data and to reduced values apart"};
  return std::nullopt;
}

/// The one term of `sum`, if it is a product of factors and an exponential.
static const Term *getProduct(Operation *op, const Sum &sum,
                              RefusalReason &why) {
  if (sum.size() == 1 && sum[0].differences.empty() && sum[0].inner.empty() &&
      sum[0].masks.empty())
    return &sum[0];
  refuse(why, op, "irreducible",
         "'" + op->getName().getStringRef().str() +
             "' of a sum of data and reduced values");
  return nullptr;
}

bool NormalForm::splitsBySign(const Term &term) const {
  // With all factors non-negative, nothing is lost. With one of unknown sign
  // the others have to be positive: sqrt(-1 * 0) is 0, sqrt(-1)*sqrt(0) NaN.
  if (!(term.scale > 0))
    return false;
  unsigned numUnknown = 0, numZero = 0;
  for (ArrayRef<Factor> factors : {ArrayRef(term.done), ArrayRef(term.data)})
    for (Factor f : factors) {
      bool isEven = f.exponent % 2 == 0;
      bool isRoot = f.function == Function::Abs || f.function == Function::Sqrt;
      if (!isEven && !isRoot && !roles.isNonNegative(f.value))
        ++numUnknown;
      else if (f.exponent < 0 ? !roles.isBounded(f.value)
                              : !roles.isNonZero(f.value))
        ++numZero;
    }
  return numUnknown == 0 || (numUnknown == 1 && numZero == 0);
}

const Term *NormalForm::getSplitProduct(Operation *op, const Sum &sum,
                                        StringRef function,
                                        RefusalReason &why) const {
  const Term *product = getProduct(op, sum, why);
  if (!product || splitsBySign(*product))
    return product;
  refuse(why, op, "sign",
         "the " + function.str() +
             " of a product whose factors can be negative");
  return nullptr;
}

/// `factors` one by one through `change`, which refuses by returning false.
static bool changeFactors(SmallVectorImpl<Factor> &factors,
                          function_ref<bool(Factor &)> change) {
  SmallVector<Factor, 2> result;
  for (Factor f : factors) {
    if (!change(f))
      return false;
    multiplyInto(result, f);
  }
  factors.assign(result.begin(), result.end());
  return true;
}

std::optional<Sum> NormalForm::absolute(Operation *op, const Sum &sum,
                                        RefusalReason &why) {
  Sum whole = packed(sum);
  auto change = [&](Factor &f) {
    bool isOdd = f.exponent % 2 != 0;
    if (f.function == Function::None && isOdd && !roles.isNonNegative(f.value))
      f.function = Function::Abs;
    return f.function != Function::Log || !isOdd;
  };
  bool isProduct = whole.size() == 1 && whole[0].inner.empty() &&
                   llvm::all_of(whole[0].differences, [](const Difference &d) {
                     return d.power % 2 == 0;
                   });
  if (!isProduct || !changeFactors(whole[0].done, change) ||
      !changeFactors(whole[0].data, change))
    return refuse(why, op, "irreducible",
                  "the absolute value of a sum of data and reduced values");
  whole[0].scale = std::fabs(whole[0].scale);
  note("|a*b| = |a|*|b|");
  return whole;
}

std::optional<Sum> NormalForm::squareRoot(Operation *op, const Sum &sum,
                                          RefusalReason &why) {
  const Term *product = getSplitProduct(op, sum, "root", why);
  if (!product)
    return std::nullopt;
  Term t = *product;
  t.scale = std::sqrt(t.scale);
  auto change = [&](Factor &f) {
    if (f.exponent % 2 != 0) {
      if (f.function != Function::None)
        return false;
      f.function = Function::Sqrt;
      return true;
    }
    f.exponent /= 2;
    if (f.function == Function::None && f.exponent % 2 != 0 &&
        !roles.isNonNegative(f.value))
      f.function = Function::Abs;
    return f.function != Function::Log;
  };
  if (!changeFactors(t.done, change) || !changeFactors(t.data, change))
    return refuse(why, op, "irreducible",
                  "the root of a root, an absolute value or a logarithm");
  if (t.exponential)
    for (Linear *linear : {&t.exponential->data, &t.exponential->done})
      for (Monomial &m : *linear)
        m.scale /= 2;
  note("sqrt(a*b) = sqrt(a)*sqrt(b)");
  return Sum{t};
}

std::optional<Sum> NormalForm::logarithm(Operation *op, const Sum &sum,
                                         RefusalReason &why) {
  const Term *product = getSplitProduct(op, sum, "logarithm", why);
  if (!product)
    return std::nullopt;
  Sum result;
  if (product->scale != 1) {
    Term t;
    t.scale = std::log(product->scale);
    result.push_back(t);
  }
  for (bool isData : {true, false})
    for (Factor f : isData ? product->data : product->done) {
      Term t;
      t.scale = f.exponent;
      if (f.function == Function::Sqrt)
        t.scale /= 2;
      else if (f.function != Function::None ||
               (f.exponent % 2 == 0 && !roles.isNonNegative(f.value)))
        return refuse(why, op, "irreducible",
                      "the logarithm of an absolute value or a logarithm");
      (isData ? t.data : t.done).push_back({f.value, 1, Function::Log});
      result.push_back(std::move(t));
    }
  if (product->exponential) {
    const Exponential &e = *product->exponential;
    double scale = e.isBase2 ? std::log(2.0) : 1;
    for (bool isData : {true, false})
      for (const Monomial &m : isData ? e.data : e.done) {
        Term t;
        t.scale = m.scale * scale;
        (isData ? t.data : t.done).assign(m.factors.begin(), m.factors.end());
        result.push_back(std::move(t));
      }
  }
  note("log(a*b) = log(a) + log(b)");
  return result;
}
