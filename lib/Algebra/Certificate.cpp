//===- Certificate.cpp - a derivation as formulas -------------------------===//
//
// Formulas are written so that people and computer algebra read the same text:
// x0, x1, ... are the elements of the inputs, a0, a1, ... are data computed
// from them (`where` says how), d0, d1, ... the reductions of the cascade in
// the order of its body, t0, t1, ... the components of the state. A name with a
// prime is that after a segment or in the merged state.
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
  }

  std::string state(unsigned i) const { return "t" + std::to_string(i); }

  /// A value of the body; data is named, not spelled out.
  std::string value(Value v, bool spell = false);
  /// What a factor is a power of.
  std::string base(Factor factor);
  std::string product(StringRef start, ArrayRef<Factor> factors, double scale);
  std::string sum(StringRef start, const Linear &linear);

  std::string contribution(const Component &c);
  std::string transport(unsigned index);
  std::string stage(const Stage &stage);
  /// The name by which `combining` combines; a declared reducer gets one.
  std::string reducer(CombiningOpInterface combining);
  std::string operands(Operation *op);
  std::string choice(const StageChoice &choice);
  std::string term(const StageTerm &term);

  llvm::DenseMap<Value, std::string> leaves;
  std::vector<std::string> definitions;
  /// What declared reducers do.
  std::vector<std::string> combiners;

private:
  std::string spelled(Operation *op);

  const Derivation &d;
  const Roles &roles;
  Block &body;
  llvm::DenseMap<Value, std::string> names;
  std::vector<CombiningOpInterface> declared;
  /// The combining region that is being spelled.
  Block *combining = nullptr;
};
} // namespace

std::string Formulas::operands(Operation *op) {
  std::string text;
  for (Value v : op->getOperands())
    text += (text.empty() ? "" : ", ") + value(v);
  return text;
}

std::string Formulas::reducer(CombiningOpInterface op) {
  if (!op.isDeclared())
    return stringifyReducer(op.getReducer()).str();
  for (auto [i, other] : llvm::enumerate(declared))
    if (haveSameReducer(op, other))
      return "c" + std::to_string(i);
  std::string name = "c" + std::to_string(declared.size()), text = name + "(";
  declared.push_back(op);
  Block &block = op.getCombine().front();
  unsigned k = op->getNumOperands();
  for (BlockArgument arg : block.getArguments()) {
    unsigned i = arg.getArgNumber();
    names[arg] = (i < k ? "l" : "r") + std::to_string(i % k);
    text += (i == 0 ? "" : i == k ? "; " : ", ") + names[arg];
  }
  text += ") = (";
  combining = &block;
  auto yield = cast<YieldOp>(block.getTerminator());
  for (auto [i, v] : llvm::enumerate(yield.getValues()))
    text += (i ? ", " : "") + value(v);
  combining = nullptr;
  text += "); identity (";
  for (auto [i, attr] : llvm::enumerate(op.getIdentitiesAttr())) {
    text += i ? ", " : "";
    if (auto f = dyn_cast<FloatAttr>(attr))
      text += number(f.getValueAsDouble());
    else
      llvm::raw_string_ostream(text) << cast<IntegerAttr>(attr).getValue();
  }
  combiners.push_back(text + (op.getOrdered() ? "); ordered" : ")"));
  return name;
}

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
      .Case<arith::ExtFOp, arith::TruncFOp, arith::IndexCastOp,
            arith::SIToFPOp>([&](auto) { return arg(0); })
      .Case<math::ExpOp>([&](auto) { return call("exp"); })
      .Case<math::Exp2Op>([&](auto) { return "2**" + atomOf(arg(0)); })
      .Case<math::LogOp>([&](auto) { return call("log"); })
      .Case<math::SqrtOp>([&](auto) { return call("sqrt"); })
      .Case<math::RsqrtOp>([&](auto) { return "1/" + call("sqrt"); })
      .Case<math::AbsFOp>([&](auto) { return call("Abs"); })
      .Case<math::FPowIOp, math::PowFOp>(
          [&](auto) { return atomOf(arg(0)) + "**" + atomOf(arg(1)); })
      .Case([&](ReduceOp reduce) {
        return stringifyReducer(reduce.getReducer()).str() +
               dimList(reduce.getOver()) + "(" + arg(0) + ")";
      })
      .Case([&](IndexOp index) { return "i" + std::to_string(index.getDim()); })
      .Default([&](Operation *o) {
        std::string name = o->getName().stripDialect().str();
        if (auto cmp = dyn_cast<arith::CmpFOp>(o))
          name += "_" + arith::stringifyCmpFPredicate(cmp.getPredicate()).str();
        if (auto cmp = dyn_cast<arith::CmpIOp>(o))
          name += "_" + arith::stringifyCmpIPredicate(cmp.getPredicate()).str();
        return call(name);
      });
}

std::string Formulas::value(Value v, bool spell) {
  v = roles.canonical(v);
  if (auto arg = dyn_cast<BlockArgument>(v); arg && arg.getOwner() == &body)
    return "x" + std::to_string(arg.getArgNumber());
  if (auto it = names.find(v); it != names.end())
    return it->second;
  if (std::optional<double> c = getConstant(v))
    return number(*c);
  Operation *op = v.getDefiningOp();
  if (op && combining && op->getBlock() == combining)
    return spelled(op);
  if (!op || op->getBlock() != &body)
    return "c";
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return value(op->getOperand(0), spell);
  bool isData = roles[v] == Role::Data || roles[v] == Role::Free;
  if (!isData || spell)
    return spelled(op);
  if (auto it = leaves.find(v); it != leaves.end())
    return it->second;
  // Spelled first: what it is made of comes before it.
  std::string text = spelled(op);
  std::string name = "a" + std::to_string(leaves.size());
  leaves[v] = name;
  definitions.push_back(name + " = " + text);
  return name;
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
  auto times = [&](const std::string &f) {
    text = text.empty() ? f : text + "*" + f;
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

std::string Formulas::contribution(const Component &c) {
  std::string text;
  if (!c.terms.empty())
    text = sum("", c.terms);
  if (c.exponential) {
    const PivotedExponential &e = d.exponentials[*c.exponential];
    std::string exponent = sum("", e.data) + " - " + state(e.pivot) + "'";
    text = e.isBase2 ? "2**(" + exponent + ")" : "exp(" + exponent + ")";
  }
  for (auto [pivot, power] : c.powers) {
    const DifferencePivot &p = d.pivots[pivot];
    std::string y = "(" + sum("", p.data) + " - " + state(p.component) + "')";
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
    std::string t = state(d.pivots[pivot].component);
    std::string move = "(" + t + " - " + t + "')", result;
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

std::string Formulas::term(const StageTerm &term) {
  std::string text = term.component ? state(*term.component) : "";
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
    const Shift &s = d.shifts[index];
    std::string q;
    if (s.numerator)
      q = "(-" + state(*s.numerator) + "/" +
          (s.denominator ? state(*s.denominator) : number(s.count)) + ")";
    else
      q = "(" + sum(state(d.pivots[s.pivot].component), s.done) + ")";
    times(power == 1 ? q : q + "**" + std::to_string(power));
  }
  return product(text, term.done, term.scale);
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
  case Stage::Kind::Group: {
    std::string text = state(s.first);
    for (unsigned i = 1; i < reduce.getNumResults(); ++i)
      text += ", " + state(s.first + i);
    return text;
  }
  case Stage::Kind::Selection:
  case Stage::Kind::Endpoints:
    break;
  }
  Value operand = roles.canonical(reduce.getOperands()[0]);
  auto at = [&](unsigned component) {
    auto before = names.find(s.data);
    std::string old = before == names.end() ? "" : before->second;
    names[s.data] = state(component);
    std::string text = operand == s.data ? state(component) : value(operand);
    if (old.empty())
      names.erase(s.data);
    else
      names[s.data] = old;
    return text;
  };
  if (s.kind == Stage::Kind::Selection)
    return at(s.first) + ", " + state(s.first + 1);
  if (!s.second)
    return at(s.first);
  return stringifyReducer(reduce.getReducer()).str() + "(" + at(s.first) +
         ", " + at(*s.second) + ")";
}

DictionaryAttr redfuse::makeCertificate(CascadeOp cascade,
                                        const Derivation &d) {
  Builder b(cascade.getContext());
  FailureOr<Roles> roles =
      Roles::compute(cast<IndexProgramOpInterface>(*cascade), d.over);
  assert(succeeded(roles) && "the cascade changed since it was analysed");
  Formulas f(cascade, d, *roles);
  auto text = [&](const Twine &t) -> Attribute { return b.getStringAttr(t); };
  SmallVector<Attribute> basis, pivots, transport, source, finalise, rules;
  SmallVector<Attribute> ordered, combiners, outputs;
  for (auto [i, c] : llvm::enumerate(d.components)) {
    std::string name = f.state(i);
    std::string over = dimList(c.over);
    if (c.kept) {
      basis.push_back(text(name + " = mean of the first segment of " +
                           f.sum("", d.pivots[*c.kept].data) + ", kept"));
      continue;
    }
    if (c.member != 0) {
      bool isDeclared = c.reducer == Reducer::Declared;
      basis.push_back(text(
          name + " = " +
          (isDeclared ? "part " + std::to_string(c.member) : "index") + " of " +
          f.state(i - c.member)));
      continue;
    }
    if (c.group) {
      auto combining = cast<CombiningOpInterface>(c.group);
      std::string elements = combining.isDeclared()
                                 ? f.operands(c.group)
                                 : f.value(c.elements[0]);
      std::string reducer = combining.isDeclared()
                                ? f.reducer(combining)
                                : stringifyReducer(c.reducer).str();
      basis.push_back(
          text(name + " = " + reducer + over + "(" + elements + ")"));
      if (combining.getOrdered())
        ordered.push_back(
            text(name + ": segments are merged in the order of their indices"));
      continue;
    }
    std::string reducer = stringifyReducer(c.reducer).str();
    basis.push_back(
        text(name + " = " + reducer + over + "(" + f.contribution(c) + ")"));
    if (c.exponential || !c.powers.empty())
      transport.push_back(text(name + " -> " + f.transport(i)));
  }
  for (const PivotedExponential &e : d.exponentials)
    if (e.isUsed)
      pivots.push_back(
          text(f.state(e.pivot) + ": running maximum of " + f.sum("", e.data)));
  for (const DifferencePivot &p : d.pivots)
    if (p.isUsed && !p.exponential)
      pivots.push_back(
          text(f.state(p.component) + ": kept value of " + f.sum("", p.data)));
  for (auto reduce : cascade.getBody().front().getOps<ReduceOp>())
    if (roles->isStage(reduce)) {
      bool isDeclared = reduce.isDeclared();
      std::string left = f.value(reduce.getResult(0));
      for (unsigned i = 1; isDeclared && i < reduce.getNumResults(); ++i)
        left += ", " + f.value(reduce.getResult(i));
      source.push_back(text(left + " = " + f.reducer(reduce) +
                            dimList(reduce.getOver()) + "(" +
                            (isDeclared ? f.operands(reduce)
                                        : f.value(reduce.getOperands()[0])) +
                            ")"));
    }
  for (const RunningStage &running : d.scans) {
    ScanOp scan = running.scan;
    std::string left, state;
    for (auto [i, v] : llvm::enumerate(scan.getResults())) {
      left += (i ? ", " : "") + f.value(v);
      state += (i ? ", " : "") + f.state(running.first + i);
    }
    std::string reducer = f.reducer(scan);
    std::string prefixes = "prefixes of " + reducer +
                           dimList({int64_t(scan.getDim())}) + "(" +
                           f.operands(scan) + ")";
    source.push_back(text(left + " = " + prefixes));
    outputs.push_back(text(left + " = " + reducer + "(" + state +
                           (scan.isDeclared() ? "; " : ", ") + prefixes +
                           " in the segment)"));
  }
  for (const Stage &s : d.stages) {
    ReduceOp reduce = s.reduce;
    finalise.push_back(text(f.value(reduce.getResult(0)) + " = " + f.stage(s)));
  }
  for (StringRef rule : d.rules)
    rules.push_back(text(rule));
  SmallVector<Attribute> where;
  for (const std::string &definition : f.definitions)
    where.push_back(text(definition));
  for (const std::string &combiner : f.combiners)
    combiners.push_back(text(combiner));
  SmallVector<NamedAttribute> entries({
      b.getNamedAttr("basis", b.getArrayAttr(basis)),
      b.getNamedAttr("finalise", b.getArrayAttr(finalise)),
      b.getNamedAttr("pivots", b.getArrayAttr(pivots)),
      b.getNamedAttr("rules", b.getArrayAttr(rules)),
      b.getNamedAttr("source", b.getArrayAttr(source)),
      b.getNamedAttr("transport", b.getArrayAttr(transport)),
      b.getNamedAttr("where", b.getArrayAttr(where)),
  });
  // Only where there is such a thing.
  for (auto &[name, list] :
       {std::pair<StringRef, ArrayRef<Attribute>>("combiners", combiners),
        {"ordered", ordered},
        {"outputs", outputs}})
    if (!list.empty())
      entries.push_back(b.getNamedAttr(name, b.getArrayAttr(list)));
  return b.getDictionaryAttr(entries);
}
