//===- Derive.cpp - how a cascade folds along some dims -------------------===//
#include "Deriver.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace redfuse;

/// More components than this do not pay and are a sign of runaway expansion.
static constexpr unsigned kMaxRank = 8;

Type redfuse::getAccumulatorType(Type type) {
  auto f = dyn_cast<FloatType>(type);
  return f && f.getWidth() < 32 ? Float32Type::get(type.getContext()) : type;
}

Value redfuse::stripExtensions(Value v) {
  while (auto ext = v.getDefiningOp<arith::ExtFOp>())
    v = ext.getIn();
  return v;
}

//===----------------------------------------------------------------------===//
// Components
//===----------------------------------------------------------------------===//

SmallBitVector Deriver::dimsOf(ArrayRef<Factor> factors) const {
  SmallBitVector set(roles.getOver().size());
  for (Factor f : factors)
    set |= roles.getDims()[f.value];
  return set;
}

SmallBitVector Deriver::dimsOf(const Linear &linear) const {
  SmallBitVector set(roles.getOver().size());
  for (const Monomial &m : linear)
    set |= dimsOf(m.factors);
  return set;
}

/// Whether two components hold the same.
static bool isSame(const Component &a, const Component &b) {
  return a.reducer == b.reducer && a.type == b.type && a.over == b.over &&
         a.into == b.into && a.terms == b.terms && a.data == b.data &&
         a.powers == b.powers && a.exponential == b.exponential &&
         a.masks == b.masks && a.joint == b.joint && a.member == b.member &&
         a.kept == b.kept && a.lazyOf == b.lazyOf;
}

unsigned Deriver::addComponent(Component component) {
  component.identity =
      component.identity
          ? component.identity
          : getReducerIdentity(component.reducer, component.type);
  for (auto [i, other] : llvm::enumerate(result.components)) {
    if (isSame(component, other)) {
      if (other.narrowed != component.narrowed)
        other.narrowed = {};
      return i;
    }
    // One sum serves both, in the wider type.
    if (component.powers.empty() || component.type == other.type)
      continue;
    Component wide = component.type.isF64() ? component : other;
    Component moved = component.type.isF64() ? other : component;
    moved.type = wide.type;
    if (wide.type.isF64() && isSame(moved, wide)) {
      other.type = wide.type;
      other.identity = wide.identity;
      return i;
    }
  }
  result.components.push_back(std::move(component));
  return result.components.size() - 1;
}

Component Deriver::makeComponent(Reducer reducer, Type type,
                                 ArrayRef<int64_t> over,
                                 SmallBitVector dims) const {
  Component c;
  c.reducer = reducer;
  c.type = type;
  c.over.assign(over.begin(), over.end());
  dims.reset(toDimSet(over, dims.size()));
  c.into = toDims(dims);
  return c;
}

unsigned Deriver::addCount(ArrayRef<int64_t> over) {
  return addComponent(makeComponent(Reducer::Add, IntegerType::get(context, 64),
                                    over,
                                    SmallBitVector(roles.getOver().size())));
}

unsigned Deriver::addExponential(const Exponential &exponential, Type type,
                                 ArrayRef<int64_t> over,
                                 ArrayRef<std::pair<Value, bool>> masks) {
  // What is masked out must not move the pivot: it can be infinite.
  SmallBitVector dims = dimsOf(exponential.data);
  for (auto &[predicate, side] : masks)
    dims |= roles.getDims()[predicate];
  Component pivot = makeComponent(Reducer::MaximumF, type, over, dims);
  pivot.masks.assign(masks.begin(), masks.end());
  std::optional<unsigned> found;
  if (exponential.data.size() == 1) {
    const Monomial &m = exponential.data[0];
    if (m.scale == 1 && m.factors.size() == 1 && m.factors[0].isPlain()) {
      Value u = stripExtensions(m.factors[0].value);
      for (auto [i, other] : llvm::enumerate(result.components))
        if ((other.reducer == Reducer::MaximumF ||
             other.reducer == Reducer::MaxNumF) &&
            other.into == pivot.into && other.terms.empty() &&
            other.masks == pivot.masks && other.data.size() == 1 &&
            other.data[0].isPlain() && !other.exponential &&
            stripExtensions(other.data[0].value) == u)
          found = i;
      pivot.data.push_back(m.factors[0]);
    }
  }
  if (!found) {
    if (pivot.data.empty())
      pivot.terms = exponential.data;
    found = addComponent(std::move(pivot));
  }
  for (auto [i, other] : llvm::enumerate(result.exponentials))
    if (other.pivot == *found && other.type == type &&
        other.isBase2 == exponential.isBase2 && other.data == exponential.data)
      return i;
  result.exponentials.push_back(
      {exponential.data, exponential.isBase2, type, *found});
  return result.exponentials.size() - 1;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

bool redfuse::isRisky(const Roles &roles, Factor f) {
  if (!isa<FloatType>(f.value.getType()))
    return false;
  if (f.function == Factor::Function::Log) // Infinite for 0 and for infinity.
    return true;
  return f.exponent < 0 ? !roles.isNonZero(f.value) : !roles.isBounded(f.value);
}

bool Deriver::isWider(const Term &term, ArrayRef<Factor> done,
                      ArrayRef<Factor> data) const {
  if (llvm::none_of(done,
                    [](Factor f) { return isa<FloatType>(f.value.getType()); }))
    return false;
  // What is shared by all rows is a parameter, and not large. Operands of a
  // matrix product have dims of their own, and are worth its speed.
  SmallBitVector rows = dimsOf(done);
  SmallVector<std::pair<SmallBitVector, int>> degrees;
  auto count = [&](const SmallBitVector &dims, int power) {
    if (rows.any() && !rows.anyCommon(dims))
      return;
    auto *same =
        llvm::find_if(degrees, [&](auto &d) { return d.first == dims; });
    if (same == degrees.end())
      degrees.push_back({dims, power});
    else
      same->second += power;
  };
  for (Factor f : data)
    if (isa<FloatType>(f.value.getType()) &&
        f.function != Factor::Function::Log) {
      // One over the smallest numbers is infinite where c over them is not.
      if (f.exponent < 0)
        count(roles.getDims()[f.value], std::max(2, -f.exponent));
      else if (!roles.isBounded(f.value))
        count(roles.getDims()[f.value], f.exponent);
    }
  for (const Difference &d : term.differences)
    count(dimsOf(d.data), d.power);
  return llvm::any_of(degrees, [](auto &d) { return d.second > 1; });
}

/// Whether powers about a pivot can leave a range that those about the mean stay
/// in: a pivot k deviations away makes an n-th power k^n times as large.
static bool isSteep(const Term &term) {
  int degree = 0;
  for (const Difference &d : term.differences)
    degree += d.power;
  return degree > 2 && !term.exponential;
}

/// The 16-bit type that a factor of what `reduce` adds up is rounded to.
static Type getNarrowed(ReduceOp reduce) {
  Value v = reduce.getOperands()[0];
  SmallVector<Value> factors{v};
  if (auto product = v.getDefiningOp<arith::MulFOp>())
    factors = {product.getLhs(), product.getRhs()};
  for (Value factor : factors)
    if (auto narrow = stripExtensions(factor).getDefiningOp<arith::TruncFOp>())
      if (narrow.getType().getIntOrFloatBitWidth() == 16)
        return narrow.getType();
  return {};
}

bool Deriver::addTerm(ReduceOp reduce, const Term &term, bool isOnly,
                      StageChoice &value) {
  Type type = getAccumulatorType(reduce.getOperands()[0].getType());
  const SmallBitVector &folded = roles.getOver();
  SmallBitVector over = toDimSet(reduce.getOver(), folded.size());

  StageTerm out;
  out.scale = term.scale;
  SmallVector<Factor, 2> data = term.data;
  SmallBitVector doneDims(folded.size());
  for (Factor f : term.done) {
    // What is free of the fold stays where it is if taking it out could change
    // the class of the result, or if the reduction runs over its own dims.
    bool isFree = roles[f.value] == Role::Free;
    if (isFree &&
        (roles.getDims()[f.value].anyCommon(over) || isRisky(roles, f))) {
      data.push_back(f);
      continue;
    }
    doneDims |= roles.getDims()[f.value];
    out.done.push_back(f);
  }
  for (const Difference &d : term.differences)
    doneDims |= dimsOf(d.done);
  if (term.exponential)
    doneDims |= dimsOf(term.exponential->done);

  // Dims that are summed together with the folded ones and that a reduced value
  // depends on are summed in the finalisation.
  out.inner = term.inner;
  if (doneDims.anyCommon(over)) {
    SmallBitVector rest = over;
    rest.reset(folded);
    llvm::append_range(out.inner, toDims(rest));
    over &= folded;
    note("sums over different dims are exchanged");
  }
  Component c = makeComponent(reduce.getReducer(), type, toDims(over),
                              SmallBitVector(folded.size()));
  c.data = data;
  c.masks = term.masks;
  if (type.isF32() && isWider(term, out.done, data)) {
    c.type = Float64Type::get(context);
    note("products that the source scales down first are added up in f64");
  } else if (type.isF32() && isSteep(term)) {
    c.type = Float64Type::get(context);
    note("powers about a pivot above the second are added up in f64");
  }
  if (term.exponential) {
    const Exponential &e = *term.exponential;
    out.exponent = e.done;
    out.isBase2 = e.isBase2;
    if (!e.data.empty())
      c.exponential = addExponential(e, type, c.over, term.masks);
  }
  // Of several terms that cancel, each would have an error of its own.
  if (isOnly && term.differences.empty())
    c.narrowed = getNarrowed(reduce);
  if (!out.done.empty())
    note("factors that are free of the folded dims are taken out of the sum");
  return addPowers(reduce, term.differences, c, out, value);
}

void Deriver::addPart(ReduceOp reduce, Component c, StageTerm out,
                      StageChoice &value) {
  SmallBitVector dims = dimsOf(c.data);
  for (auto &[predicate, side] : c.masks)
    dims |= roles.getDims()[predicate];
  for (auto [index, power] : c.powers) {
    const DifferencePivot &pivot = result.pivots[index];
    dims |= dimsOf(pivot.data) | dimsOf(pivot.weights);
  }
  if (c.exponential)
    dims |= dimsOf(result.exponentials[*c.exponential].data);
  dims.reset(toDimSet(c.over, dims.size()));
  c.into = toDims(dims);

  bool isCount =
      c.data.empty() && c.masks.empty() && c.powers.empty() && !c.exponential;
  if (isCount) {
    if (std::optional<int64_t> n = roles.getCount(c.over))
      out.scale *= static_cast<double>(*n);
    else
      out.component = addCount(c.over);
  } else {
    out.component = addComponent(c);
  }
  bool isRisk =
      llvm::any_of(out.done, [&](Factor f) { return isRisky(roles, f); });
  if (c.powers.empty() && !isCount &&
      (out.guardedShift || (isRisk && out.shifts.empty()))) {
    Component extreme = c;
    extreme.identity = {};
    extreme.reducer = Reducer::MaximumF;
    out.high = addComponent(extreme);
    extreme.reducer = Reducer::MinimumF;
    out.low = addComponent(extreme);
  }
  // 0 times what is infinite or NaN: where the masks leave nothing, the source
  // has not come to that.
  if (!c.masks.empty() &&
      (!out.done.empty() || out.exponent || !out.shifts.empty())) {
    SmallBitVector masked(dims.size());
    for (auto &[predicate, side] : c.masks)
      masked |= roles.getDims()[predicate];
    Component some = makeComponent(Reducer::Or, IntegerType::get(context, 1),
                                   c.over, masked);
    some.masks = c.masks;
    out.some = addComponent(std::move(some));
  }
  value.terms.push_back(std::move(out));
}

void Deriver::addLazyPivots() {
  result.lazy = options.lazy;
  for (auto [i, e] : llvm::enumerate(result.exponentials)) {
    const Component &maximum = result.components[e.pivot];
    Component c = makeComponent(Reducer::MaximumF, maximum.type, maximum.over,
                                SmallBitVector(roles.getOver().size()));
    c.into = maximum.into;
    c.lazyOf = e.pivot;
    e.pivot = addComponent(std::move(c));
    for (DifferencePivot &pivot : result.pivots)
      if (pivot.exponential == i)
        pivot.component = e.pivot;
  }
  if (!result.exponentials.empty())
    note("the pivot stays while the running maximum grows less than 2^lazy");
}

/// The first predicate in `choice` that is free of the folded dims.
static Value findDonePredicate(const Roles &roles, const Choice &choice) {
  if (choice.isSum())
    return {};
  Role role = roles[choice.predicate];
  if (role == Role::Done || role == Role::Free)
    return choice.predicate;
  if (Value v = findDonePredicate(roles, *choice.onTrue))
    return v;
  return findDonePredicate(roles, *choice.onFalse);
}

/// `choice` where `predicate` is `side`.
static ChoiceRef restrict(const ChoiceRef &choice, Value predicate, bool side) {
  if (choice->isSum())
    return choice;
  if (choice->predicate == predicate)
    return restrict(side ? choice->onTrue : choice->onFalse, predicate, side);
  auto result = std::make_shared<Choice>();
  result->predicate = choice->predicate;
  result->onTrue = restrict(choice->onTrue, predicate, side);
  result->onFalse = restrict(choice->onFalse, predicate, side);
  return result;
}

/// Collects the terms below `choice`, each under the masks on the way.
static void collectMasked(const NormalForm &form, const Choice &choice,
                          SmallVectorImpl<std::pair<Value, bool>> &masks,
                          Sum &terms) {
  if (choice.isSum()) {
    for (Term t : form.packed(choice.sum)) {
      llvm::append_range(t.masks, masks);
      terms.push_back(std::move(t));
    }
    return;
  }
  for (bool side : {true, false}) {
    masks.push_back({choice.predicate, side});
    collectMasked(form, side ? *choice.onTrue : *choice.onFalse, masks, terms);
    masks.pop_back();
  }
}

/// Whether a term is 0 at every point, whatever the data: then under a mask it
/// says nothing, also about classes.
static bool isPlainZero(const Term &t) {
  if (!t.data.empty() || t.exponential || !t.differences.empty())
    return false;
  return t.scale == 0 || (t.done.size() == 1 && t.done[0].isPlain() &&
                          getConstant(t.done[0].value) == 0.0);
}

/// The data that `predicate` says to be -inf all over, or null.
static Value getAllMinusInfinity(const Roles &roles, Value predicate) {
  auto all = predicate.getDefiningOp<ReduceOp>();
  if (!all || all.getReducer() != Reducer::And || !roles.isStage(all))
    return {};
  auto cmp = all.getOperands()[0].getDefiningOp<arith::CmpFOp>();
  if (!cmp || cmp.getPredicate() != arith::CmpFPredicate::OEQ ||
      getConstant(cmp.getRhs()) != -std::numeric_limits<double>::infinity())
    return {};
  return roles.canonical(stripExtensions(cmp.getLhs()));
}

/// A guard for rows in which all exponents are -inf: the source adds up 0 *
/// data there, and so does the guarded sum's own component, whose exponentials
/// are 0.
bool Deriver::addNothing(Value predicate, const Choice &choice,
                         const StageChoice &other, StageChoice &value) {
  Value empty = getAllMinusInfinity(roles, predicate);
  if (!empty || !choice.isSum() || choice.sum.size() != 1 || other.predicate ||
      other.terms.size() != 1 || !other.terms[0].component)
    return false;
  const Term &t = choice.sum[0];
  const Component &c = result.components[*other.terms[0].component];
  bool isZero = t.scale == 0 || llvm::any_of(t.done, [](Factor f) {
                  return f.isPlain() && getConstant(f.value) == 0.0;
                });
  if (!isZero || t.exponential || !t.differences.empty() || !c.exponential ||
      !c.powers.empty() || !c.masks.empty() || t.data != c.data)
    return false;
  const Linear &u = result.exponentials[*c.exponential].data;
  if (u.size() != 1 || u[0].scale != 1 || u[0].factors.size() != 1 ||
      !u[0].factors[0].isPlain() ||
      roles.canonical(stripExtensions(u[0].factors[0].value)) != empty)
    return false;
  StageTerm out;
  out.scale = 0;
  out.component = other.terms[0].component;
  value.terms.push_back(std::move(out));
  return true;
}

bool Deriver::addChoice(ReduceOp reduce, const ChoiceRef &choice,
                        StageChoice &value) {
  if (Value predicate = findDonePredicate(roles, *choice)) {
    SmallBitVector dims = roles.getDims()[predicate];
    if (dims.anyCommon(toDimSet(reduce.getOver(), dims.size())))
      return refuse(reduce, "inner reduction",
                    "a choice depends on a dim that is summed together with "
                    "the folded ones",
                    "reduce that dim in a separate step");
    auto onTrue = std::make_shared<StageChoice>();
    auto onFalse = std::make_shared<StageChoice>();
    ChoiceRef whenTrue = restrict(choice, predicate, true);
    if (!addChoice(reduce, restrict(choice, predicate, false), *onFalse) ||
        (!addNothing(predicate, *whenTrue, *onFalse, *onTrue) &&
         !addChoice(reduce, whenTrue, *onTrue)))
      return false;
    value.predicate = predicate;
    value.onTrue = onTrue;
    value.onFalse = onFalse;
    return true;
  }
  Sum terms;
  SmallVector<std::pair<Value, bool>> masks;
  collectMasked(form, *choice, masks, terms);
  for (const Term &term : terms) {
    if (isPlainZero(term))
      continue;
    if (!addTerm(reduce, term, terms.size() == 1, value))
      return false;
  }
  return true;
}

/// Whether `value` is an integer that was a float mixed of data and reduced
/// values before.
static bool isQuantised(const Roles &roles, Value value, unsigned depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || roles[value] != Role::Mixed || !value.getType().isInteger() ||
      isa<ReduceOp>(op))
    return false;
  return isa<arith::FPToSIOp, arith::FPToUIOp>(op) ||
         llvm::any_of(op->getOperands(), [&](Value v) {
           return isQuantised(roles, v, depth + 1);
         });
}

bool Deriver::addSum(ReduceOp reduce) {
  RefusalReason reason;
  if (isQuantised(roles, reduce.getOperands()[0]))
    return refuse(reduce, "quantisation",
                  "quantised values are summed as integers",
                  "sum them in a float type to approximate them");
  ChoiceRef choice = form.of(reduce.getOperands()[0], reason);
  if (!choice) {
    why.push_back(reason);
    return false;
  }
  auto value = std::make_shared<StageChoice>();
  if (!addChoice(reduce, choice, *value))
    return false;
  Stage stage;
  stage.reduce = reduce;
  stage.value = value;
  // Over nothing the source is 0; transports and quotients of an empty state
  // need not be.
  bool isPlain = !value->predicate && value->terms.size() == 1 &&
                 value->terms[0].done.empty() && !value->terms[0].exponent;
  if (!isPlain && roles.canBeEmpty(reduce.getOver()))
    stage.count = addCount(reduce.getOver());
  result.stages.push_back(std::move(stage));
  return true;
}

//===----------------------------------------------------------------------===//
// Cascades
//===----------------------------------------------------------------------===//

bool Deriver::refuse(Operation *op, StringRef condition, std::string detail,
                     StringRef remedy) {
  why.push_back({op, condition, std::move(detail), remedy});
  return false;
}

bool redfuse::changesWithOrder(CombiningOpInterface combining) {
  return llvm::is_contained({Reducer::Add, Reducer::Mul, Reducer::Declared},
                            combining.getReducer()) &&
         llvm::any_of(combining->getOperandTypes(), llvm::IsaPred<FloatType>);
}

/// Whether a reduction is made of another one's results along `dims`. Those are known
/// behind the fold, where only one value is left of all elements along the dims.
static bool usesReducedAlong(const Roles &roles, ReduceOp reduce,
                             const SmallBitVector &dims) {
  SmallVector<Value> waiting(reduce.getOperands());
  llvm::DenseSet<Value> seen;
  while (!waiting.empty()) {
    Value v = waiting.pop_back_val();
    Operation *def = v.getDefiningOp();
    if (!seen.insert(v).second || !def || def->getBlock() != reduce->getBlock())
      continue;
    auto folded = dyn_cast<ReduceOp>(def);
    if (folded &&
        toDimSet(folded.getOver(), dims.size()).anyCommon(roles.getOver())) {
      if (roles.getDims()[v].anyCommon(dims))
        return true;
      continue;
    }
    llvm::append_range(waiting, def->getOperands());
  }
  return false;
}

bool Deriver::addStage(ReduceOp reduce) {
  const SmallBitVector &over = roles.getOver();
  SmallBitVector own = toDimSet(reduce.getOver(), over.size());
  if (!isSubset(over, own) ||
      toDimSet(reduce.getInto(), over.size()).anyCommon(over))
    return refuse(reduce, "part of the dims",
                  "the reduction covers only a part of the folded dims",
                  "fold fewer dims at once");
  if (llvm::any_of(reduce.getOperands(),
                   [&](Value v) { return roles.isRunning(v); }))
    return refuse(
        reduce, "running value",
        "the reduction is over prefixes of a scan along the same dim, "
        "which a segment alone does not have",
        "keep the dim in one piece (resident)");
  if (options.strict && changesWithOrder(reduce))
    return refuse(reduce, "strict",
                  "folding a floating-point sum or product changes the order "
                  "of its operations",
                  "allow reassociation (leave out strict)");
  switch (reduce.getReducer()) {
  case Reducer::Add:
    return addSum(reduce);
  case Reducer::Mul:
    return addProduct(reduce);
  case Reducer::ArgMax:
  case Reducer::ArgMin:
  case Reducer::TopK:
  case Reducer::Declared:
    return addJoint(reduce);
  default:
    break;
  }
  // A sum may add up what a reduced value gives for each of its elements; the least of
  // such values is not that of the data.
  SmallBitVector beyond = own;
  beyond.reset(over);
  if (beyond.any() && usesReducedAlong(roles, reduce, beyond))
    return refuse(reduce, "part of the dims",
                  "it combines elements along more dims than the fold, and a "
                  "reduced value that it needs differs along these",
                  "fold all dims of it at once");
  return addExtreme(reduce);
}

bool Deriver::run(CascadeOp cascade, bool isPartial) {
  Block &body = cascade.getBody().front();
  auto yield = cast<YieldOp>(body.getTerminator());
  const SmallBitVector &over = roles.getOver();

  // What results need, once the stages stand for themselves.
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> work(yield.getValues());
  SmallVector<ReduceOp> stages;
  for (auto [i, v] : llvm::enumerate(yield.getValues()))
    if (roles.getDims()[v].anyCommon(over) && !roles.isRunning(v))
      result.mappedResults.push_back(i);
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != &body || !needed.insert(op).second)
      continue;
    llvm::append_range(work, op->getOperands());
  }
  for (auto reduce : body.getOps<ReduceOp>())
    if (needed.contains(reduce) && roles.isStage(reduce))
      stages.push_back(reduce);
  SmallVector<ScanOp> scans;
  for (auto scan : body.getOps<ScanOp>())
    if (needed.contains(scan) && roles.isRunning(scan))
      scans.push_back(scan);
  if (stages.empty() && scans.empty())
    return refuse(cascade, "no reduction",
                  "no result needs a reduction over these dims",
                  "schedule it as a map");

  // A first stage with no other stage before it comes first in the state. What
  // needs one that waits has to wait as well.
  llvm::DenseSet<Operation *> late;
  for (Operation &op : body) {
    bool isLate = llvm::any_of(op.getOperands(), [&](Value v) {
      return late.contains(v.getDefiningOp());
    });
    auto reduce = dyn_cast<ReduceOp>(op);
    if (reduce && llvm::is_contained(stages, reduce)) {
      isLate = isLate || !addStage(reduce);
      (isLate ? waiting : folded).push_back(reduce);
    }
    if (isLate)
      late.insert(&op);
  }
  if (!waiting.empty())
    return isPartial;
  for (ScanOp scan : scans)
    scansWait |= !addScan(scan);
  scansWait = scansWait || !addOutputs(cascade);
  if (scansWait)
    return isPartial;
  if (result.components.size() > kMaxRank * (stages.size() + scans.size()))
    return refuse(cascade, "rank",
                  "the state has " + std::to_string(result.components.size()) +
                      " components",
                  "split the cascade");

  for (const Rule &rule : form.getRules())
    note(rule);
  if (options.lazy != 0)
    addLazyPivots();
  dropUnused(cascade);
  if (result.components.empty())
    return refuse(cascade, "no state",
                  "no reduction over these dims depends on data",
                  "schedule it as a map");
  return true;
}

/// The folded dims in order and the roles of the body; null with `why` where it
/// cannot be folded along them.
static std::optional<std::pair<SmallVector<int64_t>, Roles>>
prepare(CascadeOp cascade, ArrayRef<int64_t> over,
        SmallVectorImpl<RefusalReason> &why, const DerivationOptions &options) {
  auto refuse = [&](StringRef condition, StringRef detail, StringRef remedy) {
    why.push_back({cascade, condition, detail.str(), remedy});
    return std::nullopt;
  };
  int64_t numDims = cascade.getNumIterationDims();
  SmallVector<int64_t> dims(llvm::to_vector(over));
  llvm::sort(dims);
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  if (dims.empty() || dims.front() < 0 || dims.back() >= numDims)
    return refuse("dims", "the folded dims are not dims of the cascade",
                  "name dims that are reduced");
  FailureOr<Roles> roles = Roles::compute(
      cast<IndexProgramOpInterface>(*cascade), dims, options.complete);
  if (failed(roles))
    return refuse("ill-formed", "the body is not a valid index program",
                  "see the error above");
  return std::pair(dims, std::move(*roles));
}

FailureOr<Derivation> redfuse::derive(CascadeOp cascade, ArrayRef<int64_t> over,
                                      SmallVectorImpl<RefusalReason> &why,
                                      const DerivationOptions &options) {
  auto prepared = prepare(cascade, over, why, options);
  if (!prepared)
    return failure();
  Deriver deriver(prepared->second, cascade.getContext(), why, options);
  deriver.result.over = prepared->first;
  if (!deriver.run(cascade))
    return failure();
  return std::move(deriver.result);
}

FailureOr<PartialDerivation>
redfuse::deriveFirstPass(CascadeOp cascade, ArrayRef<int64_t> over,
                         SmallVectorImpl<RefusalReason> &why,
                         const DerivationOptions &options) {
  auto prepared = prepare(cascade, over, why, options);
  if (!prepared)
    return failure();
  Deriver deriver(prepared->second, cascade.getContext(), why, options);
  deriver.result.over = prepared->first;
  if (!deriver.run(cascade, /*isPartial=*/true))
    return failure();
  return PartialDerivation{deriver.folded, deriver.waiting, deriver.scansWait,
                           !deriver.result.mappedResults.empty()};
}
