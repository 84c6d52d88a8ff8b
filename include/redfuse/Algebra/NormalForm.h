//===- NormalForm.h - bodies as sums of products ----------------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_ALGEBRA_NORMALFORM_H
#define REDFUSE_ALGEBRA_NORMALFORM_H

#include "redfuse/Algebra/Roles.h"
#include <memory>

namespace redfuse {

/// Why something cannot be folded.
struct RefusalReason {
  mlir::Operation *op = nullptr;
  /// The rule that failed, in a word or two.
  llvm::StringRef condition;
  /// With what it failed.
  std::string detail;
  /// What would make it work.
  llvm::StringRef remedy;
};

/// A power of a value, or of a function of it; the exponent is never 0.
struct Factor {
  enum class Function { None, Abs, Sqrt, Log };
  mlir::Value value;
  int exponent = 1;
  Function function = Function::None;
  bool operator==(const Factor &o) const {
    return value == o.value && exponent == o.exponent && function == o.function;
  }
  /// Whether it is the value itself.
  bool isPlain() const { return exponent == 1 && function == Function::None; }
};

/// Multiplies `factor` into `factors`. Powers of opposite sign are kept apart:
/// x/x is not 1 where x is 0 or infinite.
void multiplyInto(llvm::SmallVectorImpl<Factor> &factors, Factor factor);

/// scale * product of factors.
struct Monomial {
  double scale = 1;
  llvm::SmallVector<Factor, 2> factors;
  bool operator==(const Monomial &o) const {
    return scale == o.scale && factors == o.factors;
  }
};
using Linear = llvm::SmallVector<Monomial, 2>;

/// (data + done)^power, such as (x - mean)^2, kept whole: expanding it loses
/// digits, and the pivot that makes its terms small is chosen later.
struct Difference {
  Linear data, done;
  int power = 1;
  bool operator==(const Difference &o) const {
    return data == o.data && done == o.done && power == o.power;
  }
};

/// exp(data + done), or 2^(data + done).
struct Exponential {
  Linear data, done;
  bool isBase2 = false;
  bool operator==(const Exponential &o) const {
    return data == o.data && done == o.done && isBase2 == o.isBase2;
  }
};

/// scale * done factors * data factors * differences * exponential, where every
/// mask holds, else 0.
struct Term {
  double scale = 1;
  llvm::SmallVector<Factor, 2> done, data;
  std::vector<Difference> differences;
  std::optional<Exponential> exponential;
  /// Predicates on data, and the side on which the term counts.
  llvm::SmallVector<std::pair<mlir::Value, bool>, 1> masks;
  /// Other dims that the term is summed over: that is done in the finalisation.
  llvm::SmallVector<int64_t, 1> inner;
};
using Sum = std::vector<Term>;

/// A sum, or a choice between two by a predicate.
struct Choice {
  Sum sum;
  mlir::Value predicate;
  std::shared_ptr<const Choice> onTrue, onFalse;
  bool isSum() const { return !predicate; }
};
using ChoiceRef = std::shared_ptr<const Choice>;

/// A rule that a derivation used: it is exact over the reals, not in floating point.
struct Rule {
  enum class Kind {
    /// No more than that.
    Real,
    /// A sum or a difference is multiplied out term by term.
    Expansion,
    /// Not exact over the reals either, but allowed by the option `approximate`.
    Approximation
  };
  llvm::StringRef text;
  Kind kind = Kind::Real;
  bool operator==(const Rule &other) const { return text == other.text; }
};

/// Brings values of a body to normal form by terminating rules. A value that
/// stays irreducible is a barrier, with its reason.
class NormalForm {
public:
  NormalForm(const Roles &roles, bool isApproximate)
      : roles(roles), isApproximate(isApproximate) {}

  /// The normal form of `value`, or null with `why` set.
  ChoiceRef of(mlir::Value value, RefusalReason &why);

  /// `sum` as one term with a difference, where it is data + done.
  Sum packed(const Sum &sum) const;

  /// The rules that were used.
  llvm::ArrayRef<Rule> getRules() const { return rules; }

private:
  ChoiceRef compute(mlir::Operation *op, RefusalReason &why);
  std::optional<Sum> applyUnary(mlir::Operation *op, const Sum &sum,
                                RefusalReason &why);
  std::optional<Sum> applyBinary(mlir::Operation *op, const Sum &lhs,
                                 const Sum &rhs, RefusalReason &why);
  ChoiceRef mapOne(mlir::Operation *op, ChoiceRef in, RefusalReason &why);
  using Binary =
      llvm::function_ref<std::optional<Sum>(const Sum &, const Sum &)>;
  ChoiceRef mapTwo(mlir::Operation *op, ChoiceRef lhs, ChoiceRef rhs,
                   Binary combine, RefusalReason &why);
  std::optional<Sum> addSums(mlir::Operation *op, const Sum &lhs,
                             const Sum &rhs, bool isSub, RefusalReason &why);

  std::optional<Sum> multiply(mlir::Operation *op, const Sum &lhs,
                              const Sum &rhs, RefusalReason &why);
  std::optional<Sum> invert(mlir::Operation *op, const Sum &sum,
                            RefusalReason &why);
  std::optional<Sum> power(mlir::Operation *op, const Sum &sum, int exponent,
                           RefusalReason &why);
  std::optional<Sum> exponential(mlir::Operation *op, const Sum &sum,
                                 RefusalReason &why);
  /// |t|, sqrt(t) and log(t) of a product, factor by factor.
  std::optional<Sum> absolute(mlir::Operation *op, const Sum &sum,
                              RefusalReason &why);
  std::optional<Sum> squareRoot(mlir::Operation *op, const Sum &sum,
                                RefusalReason &why);
  std::optional<Sum> logarithm(mlir::Operation *op, const Sum &sum,
                               RefusalReason &why);
  /// Whether a root or logarithm of the product is that of its factors, also
  /// where one of them is negative or 0.
  bool splitsBySign(const Term &term) const;
  /// The one term of `sum`, if a root or a logarithm (`function`) of it is one of
  /// each factor; else null, with why.
  const Term *getSplitProduct(mlir::Operation *op, const Sum &sum,
                              llvm::StringRef function,
                              RefusalReason &why) const;
  /// A sum over other dims than the folded ones.
  ChoiceRef innerSum(ReduceOp reduce, RefusalReason &why);
  ChoiceRef multiplyAdd(mlir::Operation *op, RefusalReason &why);
  SmallBitVector dimsOf(const Term &term) const;
  bool isDone(mlir::Value v) const { return roles[v] == Role::Done; }
  void note(llvm::StringRef text, Rule::Kind kind = Rule::Kind::Real) {
    if (Rule rule{text, kind}; !llvm::is_contained(rules, rule))
      rules.push_back(rule);
  }

  /// Whether `op` rounds or saturates and may be taken for the identity.
  bool mayApproximate(mlir::Operation *op) const;
  /// The value that `op` clamps between constants, or null.
  mlir::Value getClamped(mlir::Operation *op) const;

  const Roles &roles;
  bool isApproximate;
  llvm::DenseMap<mlir::Value, ChoiceRef> known;
  llvm::SmallVector<Rule> rules;
};

/// The terms of `sum` with differences to the power 1 taken apart again.
Sum expandLinear(const Sum &sum);

} // namespace redfuse

#endif // REDFUSE_ALGEBRA_NORMALFORM_H
