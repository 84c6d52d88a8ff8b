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
class Formulas {
public:
  Formulas(CascadeOp cascade, const Derivation &d, const Roles &roles)
      : d(d), roles(roles), body(cascade.getBody().front()) {
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
  std::string basis(unsigned index);
  std::string transport(unsigned index);
  std::string stage(const Stage &stage);
  std::string choice(const StageChoice &choice);
  std::string term(const StageTerm &term);
  /// The name by which `combining` combines; a declared reducer gets one.
  std::string reducer(CombiningOpInterface combining);
  std::string reduction(ReduceOp reduce);
  std::string tuple(ValueRange values);

  llvm::DenseMap<Value, std::string> leaves;
  std::vector<std::string> definitions;
  /// What stands for long formulas that would be repeated.
  std::vector<std::string> shared;
  /// What declared reducers do.
  std::vector<std::string> combiners;
  /// What replaces a term or a stage where a condition holds.
  std::vector<std::string> guards;
  void addGuard(std::string text) {
    if (!llvm::is_contained(guards, text))
      guards.push_back(std::move(text));
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

std::string Formulas::tuple(ValueRange values) {
  return llvm::join(llvm::map_range(values, [&](Value v) { return value(v); }),
                    ", ");
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
  std::string name = "f" + std::to_string(declared.size()), text = name + "(";
  declared.push_back(op);
  Block &block = op.getCombine().front();
  unsigned k = op->getNumOperands();
  for (BlockArgument arg : block.getArguments()) {
    unsigned i = arg.getArgNumber();
    names[arg] = (i < k ? "l" : "r") + std::to_string(i % k);
    text += (i ? ", " : "") + names[arg];
  }
  combining = &block;
  text += ") = (" + tuple(block.getTerminator()->getOperands());
  combining = nullptr;
  text += "); identity (";
  for (auto [i, attr] : llvm::enumerate(op.getIdentitiesAttr()))
    text += (i ? ", " : "") + constantText(attr);
  combiners.push_back(text + (op.getOrdered() ? "); ordered" : ")"));
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
  definitions.push_back(name + " = " + text);
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
  shared.push_back(name + " = " + text);
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

std::string Formulas::basis(unsigned index) {
  const Component &c = d.components[index];
  if (c.kept)
    return state(index) + " = mean of " + sum("", d.pivots[*c.kept].data) +
           " in the heaviest segment by " + state(d.pivots[*c.kept].weight) +
           ", kept";
  if (c.lazyOf)
    return state(index) + " = " + state(*c.lazyOf) +
           " of an earlier segment, at most " + std::to_string(d.lazy) +
           " powers of 2 behind";
  std::string over = dimList(c.over);
  if (!c.joint)
    return state(index) + " = " + stringifyReducer(c.reducer).str() + over +
           "(" + contribution(c) + ")";
  std::string names = state(index);
  for (unsigned i = 1; i < c.elements.size(); ++i)
    names += ", " + state(index + i);
  auto joint = cast<CombiningOpInterface>(c.joint);
  std::string name =
      joint.isDeclared() ? reducer(joint) : stringifyReducer(c.reducer).str();
  return names + " = " + name + over + "(" + tuple(c.elements) + ")";
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
    addGuard(text + " -> " + by + " if " + condition);
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
      addGuard(shift(index) + " -> nan if Abs" + shift(index) + " == oo");
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
      addGuard(value(reduce.getResult(1)) + " -> " + state(*s.lowest) + " if " +
               at(s.first) + " == " + at(*s.worst));
    return at(s.first);
  }
  if (!s.second)
    return at(s.first);
  return stringifyReducer(reduce.getReducer()).str() + "(" + at(s.first) +
         ", " + at(*s.second) + ")";
}

static std::string typed(const Twine &name, Type type, ArrayRef<int64_t> dims) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << name << ": " << type << dimList(dims);
  return text;
}

DictionaryAttr redfuse::makeCertificate(CascadeOp cascade,
                                        const Derivation &d) {
  Builder b(cascade.getContext());
  FailureOr<Roles> roles =
      Roles::compute(cast<IndexProgramOpInterface>(*cascade), d.over);
  assert(succeeded(roles) && "the cascade changed since it was analysed");
  Formulas f(cascade, d, *roles);
  Block &body = cascade.getBody().front();
  SmallVector<NamedAttribute> entries;
  auto add = [&](StringRef key, const std::vector<std::string> &lines) {
    SmallVector<StringRef> texts(lines.begin(), lines.end());
    entries.push_back(b.getNamedAttr(key, b.getStrArrayAttr(texts)));
  };
  std::vector<std::string> domain, inputs, state, basis, pivots, transport,
      source, finalise, results, ordered, outputs;

  for (int64_t dim = 0; dim < cascade.getNumIterationDims(); ++dim) {
    std::optional<int64_t> n = roles->getCount({dim});
    domain.push_back("i" + std::to_string(dim) + " < " +
                     (n ? std::to_string(*n) : "?"));
  }
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  for (BlockArgument arg : body.getArguments())
    inputs.push_back(typed(f.value(arg), arg.getType(),
                           toDims(getDimsOf(maps[arg.getArgNumber()]))));

  for (auto [i, c] : llvm::enumerate(d.components)) {
    state.push_back(typed(f.state(i), c.type, c.into) + " = " +
                    constantText(c.identity));
    if (c.member == 0)
      basis.push_back(f.basis(i));
    if (auto joint = dyn_cast_or_null<CombiningOpInterface>(c.joint);
        joint && c.member == 0 && joint.getOrdered())
      ordered.push_back(f.state(i) +
                        ": segments are merged in the order of their indices");
    if (c.exponential || !c.powers.empty())
      transport.push_back(f.state(i) + " -> " + f.transport(i));
  }
  for (const PivotedExponential &e : d.exponentials)
    if (e.isUsed)
      pivots.push_back(f.state(e.pivot) + ": running maximum of " +
                       f.sum("", e.data) + (d.lazy ? ", lazily" : ""));
  for (const DifferencePivot &p : d.pivots)
    if (p.isUsed && !p.exponential)
      pivots.push_back(f.state(p.component) + ": kept value of " +
                       f.sum("", p.data));
  for (auto reduce : body.getOps<ReduceOp>())
    if (roles->isStage(reduce))
      source.push_back(f.tuple(reduce.getResults()) + " = " +
                       f.reduction(reduce));
  for (const RunningStage &running : d.scans) {
    ScanOp scan = running.scan;
    std::string left = f.tuple(scan.getResults()), reducer = f.reducer(scan);
    std::string prefixes = "prefixes of " + reducer +
                           dimList({int64_t(scan.getDim())}) + "(" +
                           f.tuple(scan.getOperands()) + ")";
    std::string state = f.state(running.first);
    for (unsigned i = 1; i < scan.getNumResults(); ++i)
      state += ", " + f.state(running.first + i);
    source.push_back(left + " = " + prefixes);
    outputs.push_back(left + " = " + reducer + "(" + state + ", " + prefixes +
                      " in the segment)");
  }
  for (const Stage &s : d.stages) {
    ReduceOp reduce = s.reduce;
    std::string name = f.value(reduce.getResult(0));
    finalise.push_back(name + " = " + f.stage(s));
    for (unsigned i = 1; i < reduce.getNumResults(); ++i)
      finalise.push_back(f.value(reduce.getResult(i)) + " = " +
                         f.state(s.first + i));
    if (s.count) {
      Type type = getAccumulatorType(reduce.getOperand(0).getType());
      f.addGuard(name + " -> " +
                 constantText(getReducerIdentity(reduce.getReducer(), type)) +
                 " if " + f.state(*s.count) + " == 0");
    }
  }
  for (auto [i, v] :
       llvm::enumerate(cast<YieldOp>(body.getTerminator()).getValues()))
    results.push_back("y" + std::to_string(i) + " = " + f.value(v));
  add("basis", basis);
  add("domain", domain);
  add("finalise", finalise);
  add("guards", f.guards);
  add("inputs", inputs);
  add("pivots", pivots);
  add("results", results);
  add("rules", std::vector<std::string>(d.rules.begin(), d.rules.end()));
  add("source", source);
  add("state", state);
  add("transport", transport);
  add("where", f.definitions);
  // Only where there is such a thing.
  if (!f.shared.empty())
    add("shared", f.shared);
  if (!f.combiners.empty())
    add("combiners", f.combiners);
  if (!ordered.empty())
    add("ordered", ordered);
  if (!outputs.empty())
    add("outputs", outputs);
  return b.getDictionaryAttr(entries);
}
