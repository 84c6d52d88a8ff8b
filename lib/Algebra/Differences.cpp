//===- Differences.cpp - powers of differences and their pivots -----------===//
#include "Deriver.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace redfuse;

static double binomial(int n, int k) {
  double result = 1;
  for (int i = 1; i <= k; ++i)
    result = result * (n - k + i) / i;
  return result;
}

//===----------------------------------------------------------------------===//
// Expansion about a pivot
//===----------------------------------------------------------------------===//

bool Deriver::addPowers(ReduceOp reduce, ArrayRef<Difference> differences,
                        const Component &c, const StageTerm &out,
                        StageChoice &value) {
  if (differences.empty()) {
    addPart(reduce, c, out, value);
    return true;
  }
  if (!isa<FloatType>(c.type))
    return refuse(reduce, "difference",
                  "a power of a difference of integers, which wrap",
                  "compute it in a float type");
  const Difference &difference = differences.front();
  Type type = getAccumulatorType(reduce.getOperands()[0].getType());
  // A mask takes away what made the mean infinite, and can leave only what is far
  // from it.
  std::optional<Mean> mean;
  if (c.masks.empty())
    mean = findMean(difference, c);
  unsigned pivot = addPivot(difference, type, c, mean);
  unsigned shift = addShift(difference, pivot, c, mean);
  bool isOwnMean = result.shifts[shift].numerator.has_value();
  bool isKept = !result.pivots[pivot].exponential;
  bool isWeighted = !c.data.empty() && !c.exponential;
  bool isRisk =
      llvm::any_of(out.done, [&](Factor f) { return isRisky(roles, f); });
  if (isKept && !isOwnMean &&
      (difference.power > 1 || differences.size() > 1 || !c.powers.empty() ||
       isWeighted || isRisk))
    return refuse(reduce, "cancellation",
                  "a power or product of differences from a value that is not "
                  "the mean of their data: its expansion can cancel, and turn "
                  "infinite data into NaN",
                  "subtract the mean");
  // A matrix that all rows share is a parameter: layer norm and then a product.
  // An infinity in it can come out as NaN.
  SmallBitVector rows = dimsOf(difference.data), columns = dimsOf(c.data);
  rows.reset(toDimSet(c.over, rows.size()));
  columns.reset(toDimSet(c.over, rows.size()));
  bool isShared = rows.any() && columns.any() && !rows.anyCommon(columns);
  std::optional<unsigned> weight = result.shifts[shift].denominator;
  bool isOwnWeight = weight && result.components[*weight].data == c.data;
  if (!c.data.empty() && !isShared && !isOwnWeight)
    return refuse(reduce, "cancellation",
                  "a difference of data and reduced values is multiplied by "
                  "data: expanded, infinite data cancels to NaN",
                  "weight the mean in the same way");
  note("(x-d)^n is expanded about a pivot inside the data",
       Rule::Kind::Expansion);
  for (int k = difference.power; k >= 0; --k) {
    Component part = c;
    StageTerm rest = out;
    rest.scale *= binomial(difference.power, k);
    if (k > 0)
      part.powers.push_back({pivot, k});
    if (k < difference.power)
      rest.shifts.push_back({shift, difference.power - k});
    if (isKept && !isOwnMean && !c.exponential)
      rest.guardedShift = shift;
    if (!addPowers(reduce, differences.drop_front(), part, rest, value))
      return false;
  }
  return true;
}

bool Deriver::findMaxima(DifferencePivot &pivot, unsigned exponential) const {
  // Takes the data of an exponential, times 1 or -1, out of what is left.
  Linear left = pivot.data;
  auto take = [&](const Linear &data, double coefficient) {
    Linear rest = left;
    for (Monomial m : data) {
      m.scale *= coefficient;
      auto *it = llvm::find(rest, m);
      if (it == rest.end())
        return false;
      rest.erase(it);
    }
    left = rest;
    return true;
  };
  if (!take(result.exponentials[exponential].data, 1))
    return false;
  SmallVector<std::pair<unsigned, double>, 1> others;
  const Component &main =
      result.components[result.exponentials[exponential].pivot];
  for (auto [i, e] : llvm::enumerate(result.exponentials))
    if (result.components[e.pivot].over == main.over &&
        result.components[e.pivot].masks.empty())
      for (double coefficient : {1.0, -1.0})
        if (!left.empty() && take(e.data, coefficient))
          others.push_back({i, coefficient});
  if (!left.empty())
    return false;
  pivot.others = others;
  return true;
}

unsigned Deriver::addPivot(const Difference &difference, Type type,
                           const Component &c,
                           const std::optional<Mean> &mean) {
  DifferencePivot pivot;
  pivot.data = difference.data;
  pivot.type = type;
  // Under an exponential of the same data its running maximum is the pivot.
  if (c.exponential && findMaxima(pivot, *c.exponential)) {
    pivot.exponential = c.exponential;
    pivot.component = result.exponentials[*c.exponential].pivot;
  }
  // Of data with weights the mean is near the heaviest. Of any sign they could
  // cancel: |weights| leave it inside the data.
  if (mean && !pivot.exponential)
    for (Factor f : mean->weights) {
      if (f.exponent % 2 != 0 && !roles.isNonNegative(f.value))
        f.function = Factor::Function::Abs;
      pivot.weights.push_back(f);
    }
  SmallBitVector dims = dimsOf(difference.data) | dimsOf(pivot.weights);
  Component state = makeComponent(Reducer::Add, type, c.over, dims);
  for (auto [i, other] : llvm::enumerate(result.pivots))
    if (other.data == pivot.data && other.type == pivot.type &&
        other.weights == pivot.weights &&
        other.exponential == pivot.exponential &&
        other.others == pivot.others &&
        (pivot.exponential ||
         (result.components[other.component].over == state.over &&
          result.components[other.component].into == state.into)))
      return i;
  if (!pivot.exponential) {
    state.kept = result.pivots.size();
    pivot.component = addComponent(state);
    if (pivot.weights.empty()) {
      pivot.weight = addCount(c.over);
    } else {
      Component weight =
          makeComponent(Reducer::Add, type, c.over, dimsOf(pivot.weights));
      weight.data = pivot.weights;
      pivot.weight = addComponent(std::move(weight));
      // Sums without the weights may be moved to it as well.
      pivot.count = addCount(c.over);
    }
  }
  result.pivots.push_back(std::move(pivot));
  return result.pivots.size() - 1;
}

unsigned Deriver::addShift(const Difference &difference, unsigned pivot,
                           const Component &c,
                           const std::optional<Mean> &mean) {
  for (auto [i, other] : llvm::enumerate(result.shifts))
    if (other.pivot == pivot && other.done == difference.done)
      return i;
  Shift shift;
  shift.pivot = pivot;
  shift.done = difference.done;
  // A running maximum is exact, and what is subtracted from it is of its size.
  if (mean && !result.pivots[pivot].exponential) {
    auto add = [&](bool isPower) {
      SmallBitVector dims = dimsOf(mean->weights);
      if (isPower)
        dims |= dimsOf(difference.data);
      Component part = makeComponent(Reducer::Add, c.type, c.over, dims);
      part.data = mean->weights;
      if (isPower)
        part.powers.push_back({pivot, 1});
      return addComponent(std::move(part));
    };
    shift.numerator = add(true);
    if (!mean->weights.empty())
      shift.denominator = add(false);
    else if (mean->count)
      shift.count = *mean->count;
    else
      shift.denominator = addCount(c.over);
    note("the mean is measured from the pivot, never subtracted rounded");
  }
  result.shifts.push_back(std::move(shift));
  return result.shifts.size() - 1;
}

/// `value` without casts between floats.
static Value stripCasts(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    v = op->getOperand(0);
  }
  return v;
}

/// Whether a constant is a number of elements, as near as a float of its type is, of 32
/// bits or more: over 2^24 not all whole numbers are floats of 32 bits.
static bool isCountOf(double constant, int64_t count, Type type) {
  if (constant == double(count))
    return true;
  auto kind = dyn_cast<FloatType>(type);
  if (!kind || kind.getWidth() < 32)
    return false;
  llvm::APFloat rounded{double(count)};
  bool losesInfo;
  rounded.convert(kind.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                  &losesInfo);
  return rounded.convertToDouble() == constant;
}

/// Whether these are values themselves and positive powers of them.
static bool isPlainProduct(ArrayRef<Factor> factors) {
  return llvm::all_of(factors, [](Factor f) {
    return f.exponent > 0 && f.function == Factor::Function::None;
  });
}

std::optional<Deriver::Mean> Deriver::findMean(const Difference &difference,
                                               const Component &c) const {
  // -1 * mean, of one value.
  if (difference.done.size() != 1 || difference.done[0].scale != -1 ||
      difference.done[0].factors.size() != 1 ||
      !difference.done[0].factors[0].isPlain())
    return std::nullopt;
  if (difference.data.size() != 1 || difference.data[0].scale != 1 ||
      !isPlainProduct(difference.data[0].factors))
    return std::nullopt;
  Value mean = stripCasts(difference.done[0].factors[0].value);
  auto div = mean.getDefiningOp<arith::DivFOp>();
  if (!div)
    return std::nullopt;
  // The numerator is the sum of the data times weights.
  auto sumOf = [&](Value v) -> std::optional<Term> {
    auto reduce = stripCasts(v).getDefiningOp<ReduceOp>();
    if (!reduce || reduce.getReducer() != Reducer::Add ||
        !roles.isStage(reduce) || !llvm::equal(reduce.getOver(), c.over))
      return std::nullopt;
    RefusalReason ignored;
    ChoiceRef form = this->form.of(reduce.getOperands()[0], ignored);
    if (!form || !form->isSum() || form->sum.size() != 1)
      return std::nullopt;
    const Term &t = form->sum[0];
    if (t.scale != 1 || !t.done.empty() || t.exponential ||
        !t.differences.empty() || !t.inner.empty() || !t.masks.empty() ||
        !isPlainProduct(t.data))
      return std::nullopt;
    return t;
  };
  std::optional<Term> numerator = sumOf(div.getLhs());
  if (!numerator)
    return std::nullopt;
  // A product of data is one leaf: take it apart as far as it helps here.
  auto leaves = [&](ArrayRef<Factor> factors) {
    SmallVector<Value> result;
    SmallVector<Value> work;
    for (Factor f : factors)
      for (int i = 0; i < f.exponent; ++i)
        work.push_back(f.value);
    while (!work.empty()) {
      Value v = work.pop_back_val();
      if (auto mul = v.getDefiningOp<arith::MulFOp>()) {
        work.push_back(roles.canonical(mul.getLhs()));
        work.push_back(roles.canonical(mul.getRhs()));
        continue;
      }
      result.push_back(roles.canonical(stripExtensions(v)));
    }
    return result;
  };
  SmallVector<Value> weights = leaves(numerator->data);
  for (Value v : leaves(difference.data[0].factors)) {
    auto it = llvm::find(weights, v);
    if (it == weights.end())
      return std::nullopt;
    weights.erase(it);
  }
  // The denominator is the sum of the weights.
  Mean result;
  if (weights.empty()) {
    std::optional<double> n = getConstant(div.getRhs());
    std::optional<int64_t> count = roles.getCount(c.over);
    if (!count && roles.isCount(div.getRhs(), c.over))
      return result;
    if (!n || !count || !isCountOf(*n, *count, div.getType()))
      return std::nullopt;
    result.count = *n;
    return result;
  }
  std::optional<Term> denominator = sumOf(div.getRhs());
  if (!denominator)
    return std::nullopt;
  SmallVector<Value> others = leaves(denominator->data);
  for (Value v : weights) {
    auto it = llvm::find(others, v);
    if (it == others.end())
      return std::nullopt;
    others.erase(it);
  }
  if (!others.empty())
    return std::nullopt;
  result.weights = denominator->data;
  return result;
}

//===----------------------------------------------------------------------===//
// What is not needed
//===----------------------------------------------------------------------===//

std::optional<unsigned> redfuse::findLowerPower(const Derivation &d,
                                                unsigned index, unsigned pivot,
                                                int power) {
  Component wanted = d.components[index];
  for (auto *it = wanted.powers.begin(); it != wanted.powers.end(); ++it)
    if (it->first == pivot) {
      it->second = power;
      if (power == 0)
        wanted.powers.erase(it);
      break;
    }
  bool isCount = wanted.data.empty() && wanted.masks.empty() &&
                 wanted.powers.empty() && !wanted.exponential;
  for (auto [i, c] : llvm::enumerate(d.components)) {
    if (c.reducer != wanted.reducer || c.over != wanted.over ||
        !c.terms.empty() || c.kept || c.joint)
      continue;
    if (isCount ? (c.type.isInteger() && c.data.empty() && c.into.empty())
                : (c.type == wanted.type && c.data == wanted.data &&
                   c.masks == wanted.masks && c.powers == wanted.powers &&
                   c.exponential == wanted.exponential))
      return i;
  }
  return std::nullopt;
}

/// Whether a term of `choice` has a component with kept powers.
static bool sumsKeptPowers(const Derivation &d, const StageChoice &choice) {
  if (choice.predicate)
    return sumsKeptPowers(d, *choice.onTrue) ||
           sumsKeptPowers(d, *choice.onFalse);
  return llvm::any_of(choice.terms, [&](const StageTerm &term) {
    if (!term.component)
      return false;
    // A mean in a type with more digits than the data has lost nothing.
    auto isRounded = [](const DifferencePivot &pivot) {
      return !pivot.exponential &&
             llvm::any_of(pivot.data, [&](const Monomial &m) {
               return llvm::any_of(m.factors, [&](Factor f) {
                 return !pivot.type.isF64() ||
                        !f.value.getDefiningOp<arith::ExtFOp>();
               });
             });
    };
    int degree = 0;
    for (auto [pivot, power] : d.components[*term.component].powers)
      if (isRounded(d.pivots[pivot]))
        degree += power;
    return degree > 1;
  });
}

bool redfuse::isAroundPivot(const Derivation &d, const Stage &stage) {
  return stage.value && sumsKeptPowers(d, *stage.value);
}

bool redfuse::hasKeptPowers(const Derivation &d) {
  return llvm::any_of(d.stages,
                      [&](const Stage &s) { return isAroundPivot(d, s); });
}

namespace {
/// Finds the components and stages that the results need.
struct Liveness {
  const Derivation &d;
  const Roles &roles;
  Block &body;
  SmallBitVector components;
  llvm::DenseSet<Value> values;
  SmallBitVector stages;

  Liveness(const Derivation &d, const Roles &roles, Block &body)
      : d(d), roles(roles), body(body), components(d.components.size()),
        stages(d.stages.size()) {}

  void useComponent(std::optional<unsigned> index) {
    if (!index || components.test(*index))
      return;
    components.set(*index);
    const Component &c = d.components[*index];
    if (c.joint)
      for (unsigned i = 0; i < c.joint->getNumOperands(); ++i)
        useComponent(*index - c.member + i);
    if (c.exponential)
      useComponent(d.exponentials[*c.exponential].pivot);
    if (c.kept)
      useComponent(d.pivots[*c.kept].weight);
    useComponent(c.lazyOf);
    for (auto [pivot, power] : c.powers) {
      usePivot(d.pivots[pivot]);
      for (int k = 0; k < power; ++k)
        useComponent(findLowerPower(d, *index, pivot, k));
    }
  }
  void usePivot(const DifferencePivot &pivot) {
    useComponent(pivot.component);
    for (auto [exponential, coefficient] : pivot.others)
      useComponent(d.exponentials[exponential].pivot);
  }
  void useLinear(const Linear &linear) {
    for (const Monomial &m : linear)
      for (Factor f : m.factors)
        useValue(f.value);
  }
  void useShift(unsigned index) {
    const Shift &shift = d.shifts[index];
    useComponent(shift.numerator);
    useComponent(shift.denominator);
    if (!shift.numerator) {
      usePivot(d.pivots[shift.pivot]);
      useLinear(shift.done);
    }
  }
  void useChoice(const StageChoice &choice) {
    if (choice.predicate) {
      useValue(choice.predicate);
      useChoice(*choice.onTrue);
      useChoice(*choice.onFalse);
      return;
    }
    for (const StageTerm &term : choice.terms) {
      useComponent(term.component);
      useComponent(term.high);
      useComponent(term.low);
      useComponent(term.some);
      for (Factor f : term.done)
        useValue(f.value);
      if (term.exponent)
        useLinear(*term.exponent);
      for (auto [index, power] : term.shifts)
        useShift(index);
      if (term.guardedShift)
        useShift(*term.guardedShift);
    }
  }
  void useStage(unsigned index) {
    if (stages.test(index))
      return;
    stages.set(index);
    const Stage &stage = d.stages[index];
    useComponent(stage.count);
    if (stage.value) {
      useChoice(*stage.value);
      return;
    }
    useComponent(stage.first);
    useComponent(stage.second);
    useComponent(stage.worst);
    useComponent(stage.lowest);
    ReduceOp reduce = stage.reduce;
    if (stage.kind == Stage::Kind::Endpoints ||
        stage.kind == Stage::Kind::Selection) {
      values.insert(stage.data); // Stands for a component here.
      useValue(reduce.getOperands()[0]);
      values.erase(stage.data);
    }
  }
  void useValue(Value v) {
    v = roles.canonical(v);
    Operation *op = v.getDefiningOp();
    if (!op || op->getBlock() != &body || !values.insert(v).second)
      return;
    if (auto reduce = dyn_cast<ReduceOp>(op); reduce && roles.isStage(reduce)) {
      for (auto [i, stage] : llvm::enumerate(d.stages)) {
        ReduceOp other = stage.reduce;
        if (roles.canonical(other.getResult(0)) ==
            roles.canonical(reduce.getResult(0)))
          useStage(i);
      }
      return;
    }
    for (Value operand : op->getOperands())
      useValue(operand);
  }
};
} // namespace

static void renumber(StageChoice &choice,
                     function_ref<void(std::optional<unsigned> &)> map) {
  if (choice.predicate) {
    renumber(const_cast<StageChoice &>(*choice.onTrue), map);
    renumber(const_cast<StageChoice &>(*choice.onFalse), map);
    return;
  }
  for (StageTerm &term : choice.terms) {
    map(term.component);
    map(term.high);
    map(term.low);
    map(term.some);
  }
}

void Deriver::dropUnused(CascadeOp cascade) {
  Block &body = cascade.getBody().front();
  Liveness live(result, roles, body);
  for (Value v : cast<YieldOp>(body.getTerminator()).getValues())
    live.useValue(v);
  for (const RunningStage &running : result.scans)
    live.useComponent(running.first);
  SmallVector<unsigned> position(result.components.size(), 0);
  std::vector<Component> components;
  for (unsigned i = 0; i < result.components.size(); ++i) {
    position[i] = components.size();
    if (live.components.test(i))
      components.push_back(result.components[i]);
  }
  for (Component &c : components)
    if (c.lazyOf)
      c.lazyOf = position[*c.lazyOf];
  std::vector<Stage> stages;
  for (unsigned i : live.stages.set_bits())
    stages.push_back(result.stages[i]);
  auto map = [&](std::optional<unsigned> &index) {
    if (index)
      index = position[*index];
  };
  for (Stage &stage : stages) {
    stage.first = position.empty() ? 0 : position[stage.first];
    map(stage.second);
    map(stage.worst);
    map(stage.lowest);
    map(stage.count);
    if (stage.value)
      renumber(const_cast<StageChoice &>(*stage.value), map);
  }
  for (RunningStage &running : result.scans)
    running.first = position[running.first];
  // Exponentials and pivots whose components went are used by none any more.
  auto isLive = [&](unsigned i) { return live.components.test(i); };
  for (PivotedExponential &e : result.exponentials) {
    e.isUsed =
        isLive(e.pivot) && llvm::any_of(components, [&](const Component &c) {
          return c.exponential == &e - result.exponentials.data();
        });
    e.pivot = position[e.pivot];
  }
  for (DifferencePivot &p : result.pivots) {
    p.isUsed = isLive(p.component);
    p.component = position[p.component];
    p.weight = position[p.weight];
    if (p.count && !isLive(*p.count))
      p.count.reset();
    map(p.count);
  }
  for (Shift &s : result.shifts) {
    s.isUsed = !s.numerator || isLive(*s.numerator);
    map(s.numerator);
    map(s.denominator);
  }
  result.components = std::move(components);
  result.stages = std::move(stages);
}
