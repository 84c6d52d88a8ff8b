//===- Certificate.cpp - a derivation as formulas -------------------------===//
//
// Formulas are written so that people and computer algebra read the same text:
// x0, x1, ... are the elements of the inputs, a0, a1, ... are data computed
// from them (`where` says how), d0, d1, ... the reductions of the cascade in
// the order of its body, t0, t1, ... the components of the state, y0, y1, ... the
// results, i0, i1, ... positions, c0, c1, ... scalars from outside, e0, e1, ...
// what is made of reductions and stands in several formulas (`shared`). A name with a
// prime is that after a segment or in the merged state. Nothing else is needed to
// check a derivation: types, dims and extents are part of it.
//
// Each formula is a `#redfuse.formula`, which reads what is written here
// (Formula.h has the grammar). All else is names, numbers and types in fields of
// dictionaries; docs/design/algebra.md has a table of the entries.
//
//===----------------------------------------------------------------------===//
#include "Deriver.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace redfuse;

/// Characters of a formula from which on it has a name: where it is repeated, and
/// where it is not.
static constexpr size_t kLongRepeated = 160, kLongFormula = 1000;

static std::string number(double value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (value == std::trunc(value) && std::fabs(value) < 1e15)
    os << static_cast<int64_t>(value);
  else if (std::isinf(value))
    os << (value > 0 ? "oo" : "-oo");
  else
    os << llvm::format("%.17g", value);
  return text;
}

static std::string dimList(ArrayRef<int64_t> dims) {
  std::string text = "[";
  for (int64_t d : dims)
    text += (text.size() > 1 ? ", " : "") + std::to_string(d);
  return text + "]";
}

/// In parentheses, if it is a sum.
static std::string factorOf(const std::string &text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[';
    depth -= text[i] == ')' || text[i] == ']';
    if (depth == 0 && (text[i] == '+' || text[i] == '-') &&
        (i == 0 || text[i - 1] != 'e'))
      return "(" + text + ")";
  }
  return text;
}

/// In parentheses, unless it is a name or a call.
static std::string atomOf(const std::string &text) {
  bool isAtom = llvm::all_of(text, [](char c) {
    return llvm::isAlnum(c) || c == '_' || c == '\'' || c == '.';
  });
  return isAtom ? text : "(" + text + ")";
}

namespace {
/// Builds the entries of a certificate.
class EntryBuilder : public Builder {
public:
  using Builder::Builder;

  DictionaryAttr entry(ArrayRef<std::pair<StringRef, Attribute>> fields) {
    return getDictionaryAttr(llvm::map_to_vector(fields, [&](auto field) {
      return getNamedAttr(field.first, field.second);
    }));
  }
  FormulaAttr formula(StringRef text) {
    return FormulaAttr::get(getContext(), getStringAttr(text));
  }
  /// `name` is what the formula says.
  DictionaryAttr equation(StringRef name, StringRef text) {
    return entry({{"name", getStringAttr(name)}, {"formula", formula(text)}});
  }
  ArrayAttr formulas(ArrayRef<std::string> texts) {
    return getArrayAttr(llvm::map_to_vector(
        texts, [&](StringRef text) -> Attribute { return formula(text); }));
  }
  ArrayAttr names(ArrayRef<std::string> names) {
    return getStrArrayAttr(SmallVector<StringRef>(names.begin(), names.end()));
  }
};

class Formulas {
public:
  Formulas(CascadeOp cascade, const Derivation &d, const Roles &roles)
      : b(cascade.getContext()), d(d), roles(roles),
        body(cascade.getBody().front()) {
    unsigned n = 0;
    for (auto reduce : body.getOps<ReduceOp>()) {
      if (!roles.isStage(reduce))
        continue;
      for (Value v : reduce.getResults())
        if (roles.canonical(v) == v)
          names[v] = "d" + std::to_string(n++);
    }
    for (const RunningStage &running : d.scans) {
      ScanOp scan = running.scan;
      for (Value v : scan.getResults())
        if (roles.canonical(v) == v)
          names[v] = "d" + std::to_string(n++);
    }
    for (Operation &op : body)
      for (Value operand : op.getOperands())
        ++uses[roles.canonical(operand)];
  }

  std::string state(unsigned i) const { return "t" + std::to_string(i); }

  /// A value of the body; data is named, not spelled out.
  std::string value(Value v, bool spell = false);
  /// What a factor is a power of.
  std::string base(Factor factor);
  std::string product(StringRef start, ArrayRef<Factor> factors, double scale);
  std::string sum(StringRef start, const Linear &linear);

  /// The pivots of a difference with signs, each after " + " or " - ".
  std::string pivots(const DifferencePivot &p, StringRef prime, double scale);
  std::string contribution(const Component &c);
  /// The entry of `basis` for a component and those that are reduced with it.
  DictionaryAttr basis(unsigned index);
  std::string transport(unsigned index);
  std::string stage(const Stage &stage);
  std::string choice(const StageChoice &choice);
  std::string term(const StageTerm &term);
  /// The name by which `combining` combines; a declared reducer gets one.
  std::string reducer(CombiningOpInterface combining);
  std::string reduction(ReduceOp reduce);
  std::string tuple(ValueRange values);
  /// The entry of a reduction, or of what a segment reduces to.
  DictionaryAttr reductionEntry(ArrayRef<std::string> names, StringRef reducer,
                                ArrayRef<int64_t> over,
                                ArrayRef<std::string> operands);
  std::vector<std::string> texts(ValueRange values);

  EntryBuilder b;
  llvm::DenseMap<Value, std::string> leaves;
  SmallVector<Attribute> definitions;
  /// What stands for long formulas that would be repeated.
  SmallVector<Attribute> shared;
  /// What declared reducers do.
  SmallVector<Attribute> combiners;
  /// What replaces a term or a stage where a condition holds.
  SmallVector<Attribute> guards;
  void addGuard(StringRef term, StringRef instead, StringRef condition) {
    Attribute guard = b.entry({{"term", b.formula(term)},
                               {"instead", b.formula(instead)},
                               {"condition", b.formula(condition)}});
    if (!llvm::is_contained(guards, guard))
      guards.push_back(guard);
  }

private:
  std::string spelled(Operation *op);
  std::string termOf(const StageTerm &term, std::optional<unsigned> component);
  std::string shift(unsigned index);
  void guard(const StageTerm &term, const std::string &text);

  const Derivation &d;
  const Roles &roles;
  Block &body;
  std::string share(Operation *op);

  llvm::DenseMap<Value, std::string> names, outside, sharedNames;
  llvm::DenseMap<Value, unsigned> uses;
  /// A name stands for another value than elsewhere.
  bool isRenamed = false;
  std::vector<CombiningOpInterface> declared;
  /// The combining region that is being spelled.
  Block *combining = nullptr;
};
} // namespace

std::string Formulas::spelled(Operation *op) {
  auto arg = [&](unsigned i) { return value(op->getOperand(i)); };
  auto call = [&](StringRef name) {
    std::string text = name.str() + "(";
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      text += (i ? ", " : "") + arg(i);
    return text + ")";
  };
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<arith::AddFOp, arith::AddIOp>(
          [&](auto) { return arg(0) + " + " + arg(1); })
      .Case<arith::SubFOp, arith::SubIOp>(
          [&](auto) { return arg(0) + " - " + factorOf(arg(1)); })
      .Case<arith::MulFOp, arith::MulIOp>(
          [&](auto) { return factorOf(arg(0)) + "*" + factorOf(arg(1)); })
      .Case<arith::DivFOp>(
          [&](auto) { return factorOf(arg(0)) + "/" + atomOf(arg(1)); })
      .Case<arith::NegFOp>([&](auto) { return "-" + factorOf(arg(0)); })
      .Case<math::ExpOp>([&](auto) { return call("exp"); })
      .Case<math::Exp2Op>([&](auto) { return "2**" + atomOf(arg(0)); })
      .Case<math::LogOp>([&](auto) { return call("log"); })
      .Case<math::SqrtOp>([&](auto) { return call("sqrt"); })
      .Case<math::RsqrtOp>([&](auto) { return "1/" + call("sqrt"); })
      .Case<math::AbsFOp>([&](auto) { return call("Abs"); })
      .Case<math::FPowIOp, math::PowFOp>(
          [&](auto) { return atomOf(arg(0)) + "**" + atomOf(arg(1)); })
      .Case([&](ReduceOp reduce) { return reduction(reduce); })
      .Case([&](arith::XOrIOp op) {
        bool isNot = op.getType().isInteger(1) && getConstant(op.getRhs());
        return isNot ? "not " + atomOf(arg(0)) : call("xori");
      })
      .Default([&](Operation *o) {
        std::string name = o->getName().stripDialect().str();
        if (auto cmp = dyn_cast<arith::CmpFOp>(o))
          name += "_" + arith::stringifyCmpFPredicate(cmp.getPredicate()).str();
        if (auto cmp = dyn_cast<arith::CmpIOp>(o))
          name += "_" + arith::stringifyCmpIPredicate(cmp.getPredicate()).str();
        return call(name);
      });
}

std::vector<std::string> Formulas::texts(ValueRange values) {
  std::vector<std::string> texts;
  for (Value v : values)
    texts.push_back(value(v));
  return texts;
}

std::string Formulas::tuple(ValueRange values) {
  return llvm::join(texts(values), ", ");
}

DictionaryAttr Formulas::reductionEntry(ArrayRef<std::string> names,
                                        StringRef reducer,
                                        ArrayRef<int64_t> over,
                                        ArrayRef<std::string> operands) {
  return b.entry({{"names", b.names(names)},
                  {"reducer", b.getStringAttr(reducer)},
                  {"over", b.getDenseI64ArrayAttr(over)},
                  {"operands", b.formulas(operands)}});
}

/// A constant, as it is written in formulas.
static std::string constantText(Attribute attr) {
  if (auto f = dyn_cast<FloatAttr>(attr))
    return number(f.getValueAsDouble());
  auto i = cast<IntegerAttr>(attr);
  SmallString<32> text;
  i.getValue().toString(text, 10, /*Signed=*/!i.getType().isInteger(1));
  return text.str().str();
}

std::string Formulas::reducer(CombiningOpInterface op) {
  if (!op.isDeclared())
    return stringifyReducer(op.getReducer()).str();
  for (auto [i, other] : llvm::enumerate(declared))
    if (haveSameReducer(op, other))
      return "f" + std::to_string(i);
  std::string name = "f" + std::to_string(declared.size());
  declared.push_back(op);
  Block &block = op.getCombine().front();
  unsigned k = op->getNumOperands();
  for (BlockArgument arg : block.getArguments()) {
    unsigned i = arg.getArgNumber();
    names[arg] = (i < k ? "l" : "r") + std::to_string(i % k);
  }
  combining = &block;
  std::vector<std::string> results =
      texts(block.getTerminator()->getOperands());
  combining = nullptr;
  std::vector<std::string> identities;
  for (Attribute attr : op.getIdentitiesAttr())
    identities.push_back(constantText(attr));
  combiners.push_back(b.entry({{"name", b.getStringAttr(name)},
                               {"results", b.formulas(results)},
                               {"identities", b.formulas(identities)},
                               {"ordered", b.getBoolAttr(op.getOrdered())}}));
  return name;
}

std::string Formulas::reduction(ReduceOp reduce) {
  return reducer(reduce) + dimList(reduce.getOver()) + "(" +
         tuple(reduce.getOperands()) + ")";
}

std::string Formulas::value(Value v, bool spell) {
  v = roles.canonical(v);
  if (auto it = names.find(v); it != names.end())
    return it->second;
  if (auto arg = dyn_cast<BlockArgument>(v); arg && arg.getOwner() == &body)
    return "x" + std::to_string(arg.getArgNumber());
  if (std::optional<double> c = getConstant(v))
    return number(v.getType().isInteger(1) ? std::fabs(*c) : *c);
  Operation *op = v.getDefiningOp();
  if (op && combining && op->getBlock() == combining)
    return spelled(op);
  if (!op || op->getBlock() != &body)
    return outside.try_emplace(v, "c" + std::to_string(outside.size()))
        .first->second;
  if (isa<arith::ExtFOp, arith::TruncFOp, arith::IndexCastOp, arith::SIToFPOp>(
          op))
    return value(op->getOperand(0), spell);
  if (auto index = dyn_cast<IndexOp>(op))
    return "i" + std::to_string(index.getDim());
  bool isData = roles[v] == Role::Data || roles[v] == Role::Free;
  if (spell)
    return spelled(op);
  if (!isData)
    return share(op);
  if (auto it = leaves.find(v); it != leaves.end())
    return it->second;
  // Spelled first: what it is made of comes before it.
  std::string text = spelled(op);
  std::string name = "a" + std::to_string(leaves.size());
  leaves[v] = name;
  definitions.push_back(b.equation(name, text));
  return name;
}

/// The text of a value that is no data, or a name for it: chains in which values
/// have several users would be spelled out once for each path through them.
std::string Formulas::share(Operation *op) {
  Value v = op->getResult(0);
  if (isRenamed)
    return spelled(op);
  if (auto it = sharedNames.find(v); it != sharedNames.end())
    return it->second;
  std::string text = spelled(op);
  if (text.size() <= (uses.lookup(v) > 1 ? kLongRepeated : kLongFormula))
    return text;
  std::string name = "e" + std::to_string(shared.size());
  shared.push_back(b.equation(name, text));
  return sharedNames[v] = name;
}

std::string Formulas::base(Factor factor) {
  std::string text = value(factor.value);
  switch (factor.function) {
  case Factor::Function::None:
    return text;
  case Factor::Function::Abs:
    return "Abs(" + text + ")";
  case Factor::Function::Sqrt:
    return "sqrt(" + text + ")";
  case Factor::Function::Log:
    return "log(" + text + ")";
  }
  llvm_unreachable("all functions are handled");
}

std::string Formulas::product(StringRef start, ArrayRef<Factor> factors,
                              double scale) {
  std::string text = start.str();
  auto times = [&](StringRef f) {
    if (!text.empty() && f.consume_front("1/"))
      text += "/" + f.str();
    else
      text += (text.empty() ? "" : "*") + f.str();
  };
  if (std::fabs(scale) != 1)
    text = number(std::fabs(scale)) + (text.empty() ? "" : "*" + text);
  for (Factor f : factors)
    if (f.exponent > 0)
      times(f.exponent == 1
                ? factorOf(base(f))
                : atomOf(base(f)) + "**" + std::to_string(f.exponent));
  for (Factor f : factors)
    if (f.exponent < 0) {
      text = (text.empty() ? "1" : text) + "/" + atomOf(base(f));
      if (f.exponent != -1)
        text += "**" + std::to_string(-f.exponent);
    }
  if (text.empty())
    text = "1";
  return scale < 0 ? "-" + text : text;
}

std::string Formulas::sum(StringRef start, const Linear &linear) {
  std::string text = start.str();
  for (const Monomial &m : linear) {
    std::string part = product("", m.factors, std::fabs(m.scale));
    if (text.empty())
      text = m.scale < 0 ? "-" + part : part;
    else
      text += (m.scale < 0 ? " - " : " + ") + part;
  }
  return text.empty() ? "0" : text;
}

std::string Formulas::pivots(const DifferencePivot &p, StringRef prime,
                             double scale) {
  std::string text = (scale < 0 ? " - " : " + ") + state(p.component);
  text += prime;
  for (auto [index, coefficient] : p.others) {
    text += coefficient * scale < 0 ? " - " : " + ";
    text += state(d.exponentials[index].pivot) + prime.str();
  }
  return text;
}

std::string Formulas::contribution(const Component &c) {
  std::string text;
  if (c.reducer == Reducer::Or && !c.masks.empty()) {
    for (auto &[predicate, side] : c.masks) {
      std::string p = (side ? "" : "not ") + value(predicate);
      text = text.empty() ? p : "andi(" + text + ", " + p + ")";
    }
    return text;
  }
  if (!c.terms.empty())
    text = sum("", c.terms);
  if (c.exponential) {
    const PivotedExponential &e = d.exponentials[*c.exponential];
    std::string exponent = sum("", e.data) + " - " + state(e.pivot) + "'";
    text = e.isBase2 ? "2**(" + exponent + ")" : "exp(" + exponent + ")";
  }
  for (auto [pivot, power] : c.powers) {
    const DifferencePivot &p = d.pivots[pivot];
    std::string y = "(" + sum("", p.data) + pivots(p, "'", -1) + ")";
    if (power != 1)
      y += "**" + std::to_string(power);
    text += (text.empty() ? "" : "*") + y;
  }
  text = product(text, c.data, 1);
  for (auto &[predicate, side] : c.masks)
    text = "where(" + std::string(side ? "" : "not ") + value(predicate) +
           ", " + text + ")";
  return text;
}

DictionaryAttr Formulas::basis(unsigned index) {
  const Component &c = d.components[index];
  std::vector<std::string> names{state(index)};
  if (c.kept) {
    const DifferencePivot &pivot = d.pivots[*c.kept];
    return b.entry({{"names", b.names(names)},
                    {"mean", b.formula(sum("", pivot.data))},
                    {"weight", b.getStringAttr(state(pivot.weight))}});
  }
  if (c.lazyOf)
    return b.entry({{"names", b.names(names)},
                    {"maximum", b.getStringAttr(state(*c.lazyOf))},
                    {"powers", b.getI64IntegerAttr(d.lazy)}});
  if (!c.joint)
    return reductionEntry(names, stringifyReducer(c.reducer), c.over,
                          contribution(c));
  for (unsigned i = 1; i < c.elements.size(); ++i)
    names.push_back(state(index + i));
  auto joint = cast<CombiningOpInterface>(c.joint);
  std::string name =
      joint.isDeclared() ? reducer(joint) : stringifyReducer(c.reducer).str();
  return reductionEntry(names, name, c.over, texts(c.elements));
}

std::string Formulas::transport(unsigned index) {
  const Component &c = d.components[index];
  std::string text;
  // Expanded like the powers of a sum, one pivot after another.
  std::function<std::string(unsigned, unsigned)> expand =
      [&](unsigned i, unsigned position) -> std::string {
    const Component &part = d.components[i];
    if (position >= part.powers.size())
      return state(i);
    auto [pivot, power] = part.powers[position];
    const DifferencePivot &p = d.pivots[pivot];
    std::string move = "(" + pivots(p, "", 1).substr(3) + pivots(p, "'", -1);
    std::string result;
    move += ")";
    for (int k = power; k >= 0; --k) {
      unsigned lower = *findLowerPower(d, i, pivot, k);
      std::string v = expand(lower, k > 0 ? position + 1 : position);
      int ways = 1;
      for (int q = 1; q <= k; ++q)
        ways = ways * (power - k + q) / q;
      std::string f = ways == 1 ? "" : std::to_string(ways) + "*";
      if (k < power)
        f += move + (power - k > 1 ? "**" + std::to_string(power - k) : "") +
             "*";
      result += (result.empty() ? "" : " + ") + f + factorOf(v);
    }
    return result;
  };
  text = expand(index, 0);
  if (!c.exponential)
    return text;
  const PivotedExponential &e = d.exponentials[*c.exponential];
  std::string p = state(e.pivot), exponent = "(" + p + " - " + p + "')";
  return (e.isBase2 ? "2**" : "exp") + exponent + "*" + factorOf(text);
}

std::string Formulas::shift(unsigned index) {
  const Shift &s = d.shifts[index];
  if (!s.numerator)
    return "(" + sum(pivots(d.pivots[s.pivot], "", 1).substr(3), s.done) + ")";
  return "(-" + state(*s.numerator) + "/" +
         (s.denominator ? state(*s.denominator) : number(s.count)) + ")";
}

std::string Formulas::termOf(const StageTerm &term,
                             std::optional<unsigned> component) {
  std::string text = component ? state(*component) : "";
  auto times = [&](const std::string &f) {
    text = text.empty() ? f : text + "*" + f;
  };
  if (term.exponent) {
    std::string pivot;
    if (term.component && d.components[*term.component].exponential)
      pivot = state(
          d.exponentials[*d.components[*term.component].exponential].pivot);
    std::string exponent = "(" + sum(pivot, *term.exponent) + ")";
    times((term.isBase2 ? "2**" : "exp") + exponent);
  }
  for (auto [index, power] : term.shifts) {
    std::string q = shift(index);
    times(power == 1 ? q : q + "**" + std::to_string(power));
  }
  return product(text, term.done, term.scale);
}

/// Says what stands for the term where a factor is infinite or a divisor 0, as
/// the finalisation computes it.
void Formulas::guard(const StageTerm &term, const std::string &text) {
  std::string ends;
  if (term.high)
    ends = termOf(term, term.high) + " + " + termOf(term, term.low);
  bool isPower =
      !term.shifts.empty() ||
      (term.component && !d.components[*term.component].powers.empty());
  auto replace = [&](const std::string &by, const std::string &condition) {
    addGuard(text, by, condition);
  };
  if (isPower && !term.guardedShift)
    ends = "nan";
  if (term.guardedShift) {
    std::string instead = ends;
    if (term.shifts.empty()) {
      std::string t = state(*term.component);
      instead = "select(Abs(" + t + ") < oo, 0, " + t + ")";
    }
    if (!instead.empty())
      replace(instead, "Abs" + shift(*term.guardedShift) + " == oo");
    ends = "nan";
  }
  for (auto [index, power] : term.shifts)
    if (d.shifts[index].numerator)
      addGuard(shift(index), "nan", "Abs" + shift(index) + " == oo");
  for (Factor f : term.done)
    if (isRisky(roles, f) && !ends.empty())
      replace(ends, f.exponent < 0 ? atomOf(base(f)) + " == 0"
                                   : "Abs(" + base(f) + ") == oo");
  if (term.some)
    replace("0", "not " + state(*term.some));
}

std::string Formulas::term(const StageTerm &term) {
  std::string text = termOf(term, term.component);
  guard(term, text);
  return text;
}

std::string Formulas::choice(const StageChoice &c) {
  if (c.predicate)
    return "select(" + value(c.predicate) + ", " + choice(*c.onTrue) + ", " +
           choice(*c.onFalse) + ")";
  std::string text;
  for (const StageTerm &t : c.terms) {
    std::string part = term(t);
    if (!t.inner.empty())
      part = "add" + dimList(t.inner) + "(" + part + ")";
    if (text.empty())
      text = part;
    else if (part[0] == '-')
      text += " - " + part.substr(1);
    else
      text += " + " + part;
  }
  return text.empty() ? "0" : text;
}

std::string Formulas::stage(const Stage &s) {
  ReduceOp reduce = s.reduce;
  switch (s.kind) {
  case Stage::Kind::Sum:
    return choice(*s.value);
  case Stage::Kind::Product:
    return state(s.first);
  case Stage::Kind::Joint:
    return state(s.first);
  case Stage::Kind::Selection:
  case Stage::Kind::Endpoints:
    break;
  }
  Value operand = roles.canonical(reduce.getOperands()[0]);
  auto at = [&](unsigned component) {
    auto before = names.find(s.data);
    std::string old = before == names.end() ? "" : before->second;
    names[s.data] = state(component);
    isRenamed = true;
    std::string text = operand == s.data ? state(component) : value(operand);
    isRenamed = false;
    if (old.empty())
      names.erase(s.data);
    else
      names[s.data] = old;
    return text;
  };
  if (s.kind == Stage::Kind::Selection) {
    if (s.worst && reduce.getNumResults() == 2)
      addGuard(value(reduce.getResult(1)), state(*s.lowest),
               at(s.first) + " == " + at(*s.worst));
    return at(s.first);
  }
  if (!s.second)
    return at(s.first);
  return stringifyReducer(reduce.getReducer()).str() + "(" + at(s.first) +
         ", " + at(*s.second) + ")";
}

/// The kinds of rules that a derivation used, as they are spelled.
static StringRef spell(Rule::Kind kind) {
  switch (kind) {
  case Rule::Kind::Real:
    return "real";
  case Rule::Kind::Expansion:
    return "expansion";
  case Rule::Kind::Approximation:
    return "approximation";
  }
  llvm_unreachable("all kinds are handled");
}

DictionaryAttr redfuse::makeCertificate(CascadeOp cascade,
                                        const Derivation &d) {
  FailureOr<Roles> roles =
      Roles::compute(cast<IndexProgramOpInterface>(*cascade), d.over);
  assert(succeeded(roles) && "the cascade changed since it was analysed");
  Formulas f(cascade, d, *roles);
  EntryBuilder &b = f.b;
  Block &body = cascade.getBody().front();
  SmallVector<int64_t> domain;
  SmallVector<Attribute> inputs, state, basis, pivots, transport, source,
      finalise, results, rules, outputs;
  std::vector<std::string> ordered;
  auto dimsAttr = [&](ArrayRef<int64_t> dims) {
    return b.getDenseI64ArrayAttr(dims);
  };

  for (int64_t dim = 0; dim < cascade.getNumIterationDims(); ++dim)
    domain.push_back(roles->getCount({dim}).value_or(-1));
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  for (BlockArgument arg : body.getArguments())
    inputs.push_back(b.entry(
        {{"name", b.getStringAttr(f.value(arg))},
         {"type", TypeAttr::get(arg.getType())},
         {"dims", dimsAttr(toDims(getDimsOf(maps[arg.getArgNumber()])))}}));

  for (auto [i, c] : llvm::enumerate(d.components)) {
    state.push_back(
        b.entry({{"name", b.getStringAttr(f.state(i))},
                 {"type", TypeAttr::get(c.type)},
                 {"dims", dimsAttr(c.into)},
                 {"identity", b.formula(constantText(c.identity))}}));
    if (c.member == 0)
      basis.push_back(f.basis(i));
    if (auto joint = dyn_cast_or_null<CombiningOpInterface>(c.joint);
        joint && c.member == 0 && joint.getOrdered())
      ordered.push_back(f.state(i));
    if (c.exponential || !c.powers.empty())
      transport.push_back(b.equation(f.state(i), f.transport(i)));
  }
  auto addPivot = [&](unsigned component, StringRef kind, const Linear &data) {
    pivots.push_back(b.entry({{"name", b.getStringAttr(f.state(component))},
                              {"kind", b.getStringAttr(kind)},
                              {"data", b.formula(f.sum("", data))}}));
  };
  for (const PivotedExponential &e : d.exponentials)
    if (e.isUsed)
      addPivot(e.pivot, d.lazy ? "lazy maximum" : "maximum", e.data);
  for (const DifferencePivot &p : d.pivots)
    if (p.isUsed && !p.exponential)
      addPivot(p.component, "kept", p.data);
  for (auto reduce : body.getOps<ReduceOp>())
    if (roles->isStage(reduce))
      source.push_back(f.reductionEntry(f.texts(reduce.getResults()),
                                        f.reducer(reduce), reduce.getOver(),
                                        f.texts(reduce.getOperands())));
  for (const RunningStage &running : d.scans) {
    ScanOp scan = running.scan;
    std::vector<std::string> names = f.texts(scan.getResults()), held;
    std::string reducer = f.reducer(scan);
    for (unsigned i = 0; i < scan.getNumResults(); ++i)
      held.push_back(f.state(running.first + i));
    NamedAttrList prefixes(f.reductionEntry(
        names, reducer, {int64_t(scan.getDim())}, f.texts(scan.getOperands())));
    prefixes.append("prefixes", b.getBoolAttr(true));
    source.push_back(prefixes.getDictionary(b.getContext()));
    outputs.push_back(b.entry({{"names", b.names(names)},
                               {"reducer", b.getStringAttr(reducer)},
                               {"state", b.names(held)}}));
  }
  for (const Stage &s : d.stages) {
    ReduceOp reduce = s.reduce;
    std::string name = f.value(reduce.getResult(0));
    finalise.push_back(b.equation(name, f.stage(s)));
    for (unsigned i = 1; i < reduce.getNumResults(); ++i)
      finalise.push_back(
          b.equation(f.value(reduce.getResult(i)), f.state(s.first + i)));
    if (s.count) {
      Type type = getAccumulatorType(reduce.getOperand(0).getType());
      f.addGuard(name,
                 constantText(getReducerIdentity(reduce.getReducer(), type)),
                 f.state(*s.count) + " == 0");
    }
  }
  for (auto [i, v] :
       llvm::enumerate(cast<YieldOp>(body.getTerminator()).getValues()))
    results.push_back(b.equation("y" + std::to_string(i), f.value(v)));
  for (const Rule &rule : d.rules)
    rules.push_back(b.entry({{"kind", b.getStringAttr(spell(rule.kind))},
                             {"text", b.getStringAttr(rule.text)}}));

  SmallVector<std::pair<StringRef, Attribute>> entries{
      {"basis", b.getArrayAttr(basis)},
      {"domain", dimsAttr(domain)},
      {"finalise", b.getArrayAttr(finalise)},
      {"guards", b.getArrayAttr(f.guards)},
      {"inputs", b.getArrayAttr(inputs)},
      {"pivots", b.getArrayAttr(pivots)},
      {"results", b.getArrayAttr(results)},
      {"rules", b.getArrayAttr(rules)},
      {"source", b.getArrayAttr(source)},
      {"state", b.getArrayAttr(state)},
      {"transport", b.getArrayAttr(transport)},
      {"where", b.getArrayAttr(f.definitions)}};
  // Only where there is such a thing.
  if (!f.shared.empty())
    entries.emplace_back("shared", b.getArrayAttr(f.shared));
  if (!f.combiners.empty())
    entries.emplace_back("combiners", b.getArrayAttr(f.combiners));
  if (!ordered.empty())
    entries.emplace_back("ordered", b.names(ordered));
  if (!outputs.empty())
    entries.emplace_back("outputs", b.getArrayAttr(outputs));
  return b.entry(entries);
}

/// An entry of `basis` for people.
static std::string describe(DictionaryAttr entry) {
  auto texts = [&](StringRef field, auto textOf) {
    return llvm::join(llvm::map_range(entry.getAs<ArrayAttr>(field), textOf),
                      ", ");
  };
  auto word = [&](StringRef field) {
    return entry.getAs<StringAttr>(field).getValue().str();
  };
  auto formula = [](Attribute attr) {
    return cast<FormulaAttr>(attr).getText().getValue().str();
  };
  std::string left = texts("names", [](Attribute name) {
    return cast<StringAttr>(name).getValue().str();
  });
  left += " = ";
  if (Attribute mean = entry.get("mean"))
    return left + "mean of " + formula(mean) + " in the heaviest segment by " +
           word("weight") + ", kept";
  if (auto powers = entry.getAs<IntegerAttr>("powers"))
    return left + word("maximum") + " of an earlier segment, at most " +
           std::to_string(powers.getInt()) + " powers of 2 behind";
  return left + word("reducer") +
         dimList(entry.getAs<DenseI64ArrayAttr>("over")) + "(" +
         texts("operands", formula) + ")";
}

SmallVector<std::string>
redfuse::describeComponents(DictionaryAttr certificate) {
  SmallVector<std::string> texts;
  for (auto entry :
       certificate.getAs<ArrayAttr>("basis").getAsRange<DictionaryAttr>())
    texts.append(entry.getAs<ArrayAttr>("names").size(), describe(entry));
  return texts;
}
