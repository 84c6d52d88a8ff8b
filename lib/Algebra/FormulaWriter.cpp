//===- FormulaWriter.cpp - the text of a derivation's formulas ------------===//
#include "FormulaWriter.h"

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

std::string redfuse::dimList(ArrayRef<int64_t> dims) {
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

FormulaWriter::FormulaWriter(CascadeOp cascade, const Derivation &d,
                             const Roles &roles)
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

void FormulaWriter::addGuard(StringRef term, StringRef instead,
                             StringRef condition) {
  Attribute guard = b.entry({{"term", b.formula(term)},
                             {"instead", b.formula(instead)},
                             {"condition", b.formula(condition)}});
  if (!llvm::is_contained(guards, guard))
    guards.push_back(guard);
}

std::string FormulaWriter::spelled(Operation *op) {
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

std::vector<std::string> FormulaWriter::texts(ValueRange values) {
  std::vector<std::string> texts;
  for (Value v : values)
    texts.push_back(value(v));
  return texts;
}

std::string FormulaWriter::tuple(ValueRange values) {
  return llvm::join(texts(values), ", ");
}

DictionaryAttr FormulaWriter::reductionEntry(ArrayRef<std::string> names,
                                             StringRef reducer,
                                             ArrayRef<int64_t> over,
                                             ArrayRef<std::string> operands) {
  return b.entry({{"names", b.names(names)},
                  {"reducer", b.getStringAttr(reducer)},
                  {"over", b.getDenseI64ArrayAttr(over)},
                  {"operands", b.formulas(operands)}});
}

std::string redfuse::constantText(Attribute attr) {
  if (auto f = dyn_cast<FloatAttr>(attr))
    return number(f.getValueAsDouble());
  auto i = cast<IntegerAttr>(attr);
  SmallString<32> text;
  i.getValue().toString(text, 10, /*Signed=*/!i.getType().isInteger(1));
  return text.str().str();
}

std::string FormulaWriter::reducer(CombiningOpInterface op) {
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

std::string FormulaWriter::reduction(ReduceOp reduce) {
  return reducer(reduce) + dimList(reduce.getOver()) + "(" +
         tuple(reduce.getOperands()) + ")";
}

std::string FormulaWriter::value(Value v, bool spell) {
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
std::string FormulaWriter::share(Operation *op) {
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

std::string FormulaWriter::base(Factor factor) {
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

std::string FormulaWriter::product(StringRef start, ArrayRef<Factor> factors,
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

std::string FormulaWriter::sum(StringRef start, const Linear &linear) {
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

std::string FormulaWriter::pivots(const DifferencePivot &p, StringRef prime,
                                  double scale) {
  std::string text = (scale < 0 ? " - " : " + ") + state(p.component);
  text += prime;
  for (auto [index, coefficient] : p.others) {
    text += coefficient * scale < 0 ? " - " : " + ";
    text += state(d.exponentials[index].pivot) + prime.str();
  }
  return text;
}

std::string FormulaWriter::contribution(const Component &c) {
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

DictionaryAttr FormulaWriter::basis(unsigned index) {
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

std::string FormulaWriter::transport(unsigned index) {
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

std::string FormulaWriter::shift(unsigned index) {
  const Shift &s = d.shifts[index];
  if (!s.numerator)
    return "(" + sum(pivots(d.pivots[s.pivot], "", 1).substr(3), s.done) + ")";
  return "(-" + state(*s.numerator) + "/" +
         (s.denominator ? state(*s.denominator) : number(s.count)) + ")";
}

std::string FormulaWriter::termOf(const StageTerm &term,
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
void FormulaWriter::guard(const StageTerm &term, const std::string &text) {
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

std::string FormulaWriter::term(const StageTerm &term) {
  std::string text = termOf(term, term.component);
  guard(term, text);
  return text;
}

std::string FormulaWriter::choice(const StageChoice &c) {
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

std::string FormulaWriter::stage(const Stage &s) {
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
