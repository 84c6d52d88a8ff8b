//===- Certificate.cpp - a derivation as formulas -------------------------===//
//
// Each formula is a `#redfuse.formula`, which reads what FormulaWriter writes
// (Formula.h has the grammar). All else is names, numbers and types in fields of
// dictionaries; docs/design/algebra.md has a table of the entries.
//
//===----------------------------------------------------------------------===//
#include "FormulaWriter.h"

using namespace mlir;
using namespace redfuse;

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

namespace {
/// Makes a certificate, list by list. What the writer gives a name on the way is defined
/// in the order in which it is met.
class CertificateMaker {
public:
  CertificateMaker(CascadeOp cascade, const Derivation &d, const Roles &roles)
      : cascade(cascade), d(d), roles(roles), f(cascade, d, roles), b(f.b),
        body(cascade.getBody().front()) {}

  DictionaryAttr make();

private:
  Attribute dimsAttr(ArrayRef<int64_t> dims) {
    return b.getDenseI64ArrayAttr(dims);
  }
  void addDomain();
  void addInputs();
  void addState();
  void addPivots();
  void addPivot(unsigned component, StringRef kind, const Linear &data);
  void addSource();
  void addPrefixes(const RunningStage &running);
  void addFinalisation(const Stage &stage);
  void addResults();
  DictionaryAttr assemble();

  CascadeOp cascade;
  const Derivation &d;
  const Roles &roles;
  FormulaWriter f;
  EntryBuilder &b;
  Block &body;
  SmallVector<int64_t> domain;
  SmallVector<Attribute> inputs, state, basis, pivots, transport, source,
      finalise, results, rules, outputs;
  std::vector<std::string> ordered;
};
} // namespace

void CertificateMaker::addDomain() {
  for (int64_t dim = 0; dim < cascade.getNumIterationDims(); ++dim)
    domain.push_back(roles.getCount({dim}).value_or(-1));
}

void CertificateMaker::addInputs() {
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  for (BlockArgument arg : body.getArguments())
    inputs.push_back(b.entry(
        {{"name", b.getStringAttr(f.value(arg))},
         {"type", TypeAttr::get(arg.getType())},
         {"dims", dimsAttr(toDims(getDimsOf(maps[arg.getArgNumber()])))}}));
}

/// The components of the state: what they are, and how they move to other pivots.
void CertificateMaker::addState() {
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
}

void CertificateMaker::addPivot(unsigned component, StringRef kind,
                                const Linear &data) {
  pivots.push_back(b.entry({{"name", b.getStringAttr(f.state(component))},
                            {"kind", b.getStringAttr(kind)},
                            {"data", b.formula(f.sum("", data))}}));
}

void CertificateMaker::addPivots() {
  for (const PivotedExponential &e : d.exponentials)
    if (e.isUsed)
      addPivot(e.pivot, d.lazy ? "lazy maximum" : "maximum", e.data);
  for (const DifferencePivot &p : d.pivots)
    if (p.isUsed && !p.exponential)
      addPivot(p.component, "kept", p.data);
}

/// The reductions of the cascade as it is written.
void CertificateMaker::addSource() {
  for (auto reduce : body.getOps<ReduceOp>())
    if (roles.isStage(reduce))
      source.push_back(f.reductionEntry(f.texts(reduce.getResults()),
                                        f.reducer(reduce), reduce.getOver(),
                                        f.texts(reduce.getOperands())));
  for (const RunningStage &running : d.scans)
    addPrefixes(running);
}

void CertificateMaker::addPrefixes(const RunningStage &running) {
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

/// What a reduction is, of the state after all segments.
void CertificateMaker::addFinalisation(const Stage &stage) {
  ReduceOp reduce = stage.reduce;
  std::string name = f.value(reduce.getResult(0));
  finalise.push_back(b.equation(name, f.stage(stage)));
  for (unsigned i = 1; i < reduce.getNumResults(); ++i)
    finalise.push_back(
        b.equation(f.value(reduce.getResult(i)), f.state(stage.first + i)));
  if (stage.count) {
    Type type = getAccumulatorType(reduce.getOperand(0).getType());
    f.addGuard(name,
               constantText(getReducerIdentity(reduce.getReducer(), type)),
               f.state(*stage.count) + " == 0");
  }
}

void CertificateMaker::addResults() {
  for (auto [i, v] :
       llvm::enumerate(cast<YieldOp>(body.getTerminator()).getValues()))
    results.push_back(b.equation("y" + std::to_string(i), f.value(v)));
}

DictionaryAttr CertificateMaker::assemble() {
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

DictionaryAttr CertificateMaker::make() {
  addDomain();
  addInputs();
  addState();
  addPivots();
  addSource();
  for (const Stage &stage : d.stages)
    addFinalisation(stage);
  addResults();
  for (const Rule &rule : d.rules)
    rules.push_back(b.entry({{"kind", b.getStringAttr(spell(rule.kind))},
                             {"text", b.getStringAttr(rule.text)}}));
  return assemble();
}

DictionaryAttr redfuse::makeCertificate(CascadeOp cascade,
                                        const Derivation &d) {
  FailureOr<Roles> roles =
      Roles::compute(cast<IndexProgramOpInterface>(*cascade), d.over);
  assert(succeeded(roles) && "the cascade changed since it was analysed");
  return CertificateMaker(cascade, d, *roles).make();
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
