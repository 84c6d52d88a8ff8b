//===- FusionSpace.cpp - one iteration space for several cascades ---------===//
#include "redfuse/Analysis/FusionSpace.h"
#include "redfuse/Analysis/CostConstants.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace redfuse;

namespace {
/// Finds the space. Variables form classes (union-find); instances of one op at
/// equal places become one.
class FusionSolver {
public:
  FusionSolver(ArrayRef<CascadeOp> ops, FusionRefusal &why)
      : ops(ops), why(why) {
    for (CascadeOp op : ops)
      members.insert(op);
    context = CascadeOp(ops.front()).getContext();
  }
  /// What is found; to be taken once.
  FailureOr<FusionSpace> run();

private:
  using Instance = FusionSpace::Instance;
  using Access = FusionSpace::Access;

  unsigned newVariable(CascadeOp op, unsigned dim);
  AffineExpr dimExpr(unsigned v) { return getAffineDimExpr(v, context); }
  unsigned newInstance(CascadeOp op, SmallVector<AffineExpr> dims);
  unsigned symbolFor(unsigned instance, Value v);
  void need(unsigned instance, Value v);
  void needResult(unsigned instance, unsigned result);
  void needExtract(unsigned instance, tensor::ExtractOp extract);
  void addAccess(unsigned instance, Value reader, Value tensor,
                 SmallVector<AffineExpr> index, bool exact);
  std::optional<unsigned> findPlace(CascadeOp op, ArrayRef<AffineExpr> dims);
  void mergeAsFound(Value tensor, ArrayRef<AffineExpr> index);

  unsigned find(unsigned v, ArrayRef<unsigned> parents) const {
    while (parents[v] != v)
      v = parents[v];
    return v;
  }
  unsigned findInstance(unsigned i) const { return find(i, aliases); }
  AffineExpr canonical(AffineExpr e, ArrayRef<unsigned> parents);
  SmallVector<AffineExpr> canonical(ArrayRef<AffineExpr> exprs,
                                    ArrayRef<unsigned> parents) {
    return llvm::map_to_vector(
        exprs, [&](AffineExpr e) { return canonical(e, parents); });
  }
  void collectVariables(AffineExpr e, ArrayRef<unsigned> parents,
                        llvm::SmallDenseSet<unsigned, 8> &out);
  bool isBoundMerge(unsigned a, unsigned b) const {
    return isRoot[a] == isRoot[b];
  }
  using Pairs = ArrayRef<std::pair<unsigned, unsigned>>;
  /// The classes of variables if the pairs were equal, and those that would change.
  SmallVector<unsigned> tryPairs(Pairs pairs,
                                 llvm::SmallDenseSet<unsigned, 4> &changed);
  bool keepsDimsApart(const Instance &instance, ArrayRef<unsigned> parents,
                      const llvm::SmallDenseSet<unsigned, 4> &changed);
  /// Makes the pairs equal if no instance forbids it.
  bool merge(Pairs pairs);
  /// The pairs of plain variables in which the vectors differ; nothing where
  /// they differ otherwise.
  std::optional<SmallVector<std::pair<unsigned, unsigned>>>
  difference(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b);
  bool mergeInstances();
  /// Makes the instances i and j one, if they are read at the same place.
  bool mergeTwo(unsigned i, unsigned j);
  Value representative(Value tensor);
  bool mergeAccesses(bool allowMixed);
  bool isEverywhere(const Instance &instance);
  LogicalResult checkAssertions();
  LogicalResult checkInstances();
  void finish();

  ArrayRef<CascadeOp> ops;
  FusionSpace::Solution s;
  FusionRefusal &why;
  MLIRContext *context;
  llvm::DenseSet<Operation *> members;
  llvm::DenseMap<Operation *, SmallVector<unsigned>> instancesOf;
  llvm::DenseMap<std::pair<unsigned, Value>, unsigned> symbolNumbers;
  /// The places at which results of members are written and read.
  llvm::DenseMap<Value, SmallVector<SmallVector<AffineExpr>>> placesOf;
  SmallVector<unsigned> variableParents, aliases;
  SmallVector<bool> isRoot;
  /// Whether there are more places than can be compared in a short time.
  bool isTooLarge = false;
  /// Where the outputs are written: as good as a read for sharing dims.
  SmallVector<std::pair<Value, SmallVector<AffineExpr>>> writes;
};
} // namespace

unsigned FusionSolver::newVariable(CascadeOp op, unsigned dim) {
  unsigned v = s.variables.size();
  s.variables.push_back({getStaticExtents(op)[dim], op, dim});
  variableParents.push_back(v);
  isRoot.push_back(false);
  return v;
}

unsigned FusionSolver::newInstance(CascadeOp op, SmallVector<AffineExpr> dims) {
  unsigned id = s.instances.size();
  Instance instance;
  instance.op = op;
  instance.dims = std::move(dims);
  instance.neededArguments.resize(op.getInputs().size());
  instance.neededResults.resize(op->getNumResults());
  s.instances.push_back(std::move(instance));
  aliases.push_back(id);
  instancesOf[op].push_back(id);
  // Assertions hold or fail whatever is used of the values.
  for (Operation &inner : op.getBody().front())
    if (isa<cf::AssertOp>(inner)) {
      s.instances[id].neededOps.insert(&inner);
      for (Value v : inner.getOperands())
        need(id, v);
    }
  return id;
}

unsigned FusionSolver::symbolFor(unsigned instance, Value v) {
  auto [it, isNew] = symbolNumbers.try_emplace({instance, v}, s.symbols.size());
  if (isNew)
    s.symbols.push_back({instance, v});
  return it->second;
}

void FusionSolver::needResult(unsigned instance, unsigned result) {
  if (s.instances[instance].neededResults.test(result))
    return;
  s.instances[instance].neededResults.set(result);
  CascadeOp op = s.instances[instance].op;
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  need(instance, yield.getValues()[result]);
}

void FusionSolver::need(unsigned instance, Value v) {
  CascadeOp op = s.instances[instance].op;
  Block *body = &op.getBody().front();
  if (auto arg = dyn_cast<BlockArgument>(v)) {
    if (arg.getOwner() != body)
      return;
    unsigned n = arg.getArgNumber();
    if (s.instances[instance].neededArguments.test(n))
      return;
    s.instances[instance].neededArguments.set(n);
    AffineMap map = op.getIndexingMapsArray()[n];
    SmallVector<AffineExpr> dims = s.instances[instance].dims;
    SmallVector<AffineExpr> index;
    Value tensor = op.getInputs()[n];
    auto type = cast<RankedTensorType>(tensor.getType());
    bool exact = true;
    for (auto [position, expr] : llvm::enumerate(map.getResults())) {
      AffineExpr at = expr.replaceDims(dims);
      index.push_back(at);
      // A variable that only comes out of an expression says nothing about
      // the extent unless the numbers do.
      auto origin = dyn_cast<AffineDimExpr>(expr);
      if (auto d = dyn_cast<AffineDimExpr>(at))
        if (!origin || !isa<AffineDimExpr>(dims[origin.getPosition()]))
          exact &=
              !type.isDynamicDim(position) &&
              type.getDimSize(position) ==
                  s.variables[find(d.getPosition(), variableParents)].extent;
    }
    addAccess(instance, v, tensor, std::move(index), exact);
    return;
  }
  Operation *def = v.getDefiningOp();
  if (def->getBlock() != body ||
      !s.instances[instance].neededOps.insert(def).second)
    return;
  if (auto extract = dyn_cast<tensor::ExtractOp>(def))
    return needExtract(instance, extract);
  for (Value operand : def->getOperands())
    need(instance, operand);
}

void FusionSolver::needExtract(unsigned instance, tensor::ExtractOp extract) {
  CascadeOp op = s.instances[instance].op;
  auto type = cast<RankedTensorType>(extract.getTensor().getType());
  SmallVector<int64_t> extents = getStaticExtents(op);
  SmallVector<AffineExpr> index;
  for (auto [position, v] : llvm::enumerate(extract.getIndices())) {
    APInt constant;
    if (matchPattern(v, m_ConstantInt(&constant))) {
      index.push_back(getAffineConstantExpr(constant.getSExtValue(), context));
      continue;
    }
    // The position along a dim is as good as a map where the extents are known
    // to agree.
    if (auto d = v.getDefiningOp<IndexOp>())
      if (!type.isDynamicDim(position) &&
          type.getDimSize(position) == extents[d.getDim()]) {
        index.push_back(s.instances[instance].dims[d.getDim()]);
        continue;
      }
    need(instance, v);
    index.push_back(getAffineSymbolExpr(symbolFor(instance, v), context));
  }
  addAccess(instance, extract.getResult(), extract.getTensor(),
            std::move(index), /*exact=*/false);
}

void FusionSolver::addAccess(unsigned instance, Value reader, Value tensor,
                             SmallVector<AffineExpr> index, bool exact) {
  unsigned id = s.accesses.size();
  s.accesses.push_back({instance, reader, tensor, index, -1, exact});
  auto result = dyn_cast<OpResult>(tensor);
  if (!result || !members.contains(result.getOwner()))
    return;
  if (exact)
    mergeAsFound(tensor, index);
  auto producer = cast<CascadeOp>(result.getOwner());
  AffineMap map = producer.getIndexingMapsArray()[producer.getInputs().size() +
                                                  result.getResultNumber()];
  SmallVector<AffineExpr> dims(producer.getNumIterationDims());
  for (auto [expr, at] : llvm::zip(map.getResults(), index))
    dims[cast<AffineDimExpr>(expr).getPosition()] = at;
  std::optional<unsigned> found = findPlace(producer, dims);
  if (!found) {
    isTooLarge |= s.instances.size() >= kMostInstances;
    if (isTooLarge)
      return;
    for (auto [d, expr] : llvm::enumerate(dims))
      if (!expr)
        expr = dimExpr(newVariable(producer, d));
    found = newInstance(producer, std::move(dims));
  }
  s.accesses[id].producer = *found;
  needResult(*found, result.getResultNumber());
}

/// The instance of `op` at these dims, of which those that are null may be any.
std::optional<unsigned> FusionSolver::findPlace(CascadeOp op,
                                                ArrayRef<AffineExpr> dims) {
  for (unsigned i : instancesOf.lookup(op)) {
    bool same =
        llvm::all_of(llvm::zip(dims, s.instances[i].dims), [&](auto pair) {
          return !std::get<0>(pair) ||
                 canonical(std::get<0>(pair), variableParents) ==
                     canonical(std::get<1>(pair), variableParents);
        });
    if (same)
      return i;
  }
  return std::nullopt;
}

/// Lets a place at which a member's result is needed share dims with one that was
/// found before, where both are reduced there: what a reduction reads three times
/// is one place for all that is computed before it, or places would multiply.
void FusionSolver::mergeAsFound(Value tensor, ArrayRef<AffineExpr> index) {
  SmallVector<SmallVector<AffineExpr>> &places =
      placesOf[representative(tensor)];
  for (ArrayRef<AffineExpr> place : places) {
    auto pairs = difference(place, index);
    if (pairs && pairs->empty())
      return;
    bool isBound = pairs && llvm::all_of(*pairs, [&](auto p) {
                     return isBoundMerge(find(p.first, variableParents),
                                         find(p.second, variableParents));
                   });
    if (isBound && merge(*pairs))
      return;
  }
  places.emplace_back(index);
}

AffineExpr FusionSolver::canonical(AffineExpr e, ArrayRef<unsigned> parents) {
  if (auto d = dyn_cast<AffineDimExpr>(e))
    return dimExpr(find(d.getPosition(), parents));
  if (isa<AffineConstantExpr>(e))
    return e;
  if (auto sym = dyn_cast<AffineSymbolExpr>(e)) {
    auto [instance, v] = s.symbols[sym.getPosition()];
    return getAffineSymbolExpr(symbolFor(findInstance(instance), v), context);
  }
  auto binary = cast<AffineBinaryOpExpr>(e);
  return getAffineBinaryOpExpr(e.getKind(), canonical(binary.getLHS(), parents),
                               canonical(binary.getRHS(), parents));
}

void FusionSolver::collectVariables(AffineExpr e, ArrayRef<unsigned> parents,
                                    llvm::SmallDenseSet<unsigned, 8> &out) {
  e.walk([&](AffineExpr part) {
    if (auto d = dyn_cast<AffineDimExpr>(part))
      out.insert(find(d.getPosition(), parents));
    // A run-time index may depend on every dim of the place it comes from.
    if (auto sym = dyn_cast<AffineSymbolExpr>(part))
      for (AffineExpr dim :
           s.instances[s.symbols[sym.getPosition()].first].dims)
        collectVariables(dim, parents, out);
  });
}

SmallVector<unsigned>
FusionSolver::tryPairs(Pairs pairs, llvm::SmallDenseSet<unsigned, 4> &changed) {
  SmallVector<unsigned> parents(variableParents);
  for (auto [a, b] : pairs) {
    unsigned x = find(a, parents), y = find(b, parents);
    parents[std::max(x, y)] = std::min(x, y);
  }
  for (auto [a, b] : pairs)
    changed.insert(find(a, parents));
  return parents;
}

/// Inside one instance different dims stay different, and a dim that another dim's
/// index depends on is not captured.
bool FusionSolver::keepsDimsApart(
    const Instance &instance, ArrayRef<unsigned> parents,
    const llvm::SmallDenseSet<unsigned, 4> &changed) {
  for (auto [p, a] : llvm::enumerate(instance.dims)) {
    auto variable = dyn_cast<AffineDimExpr>(a);
    if (!variable)
      continue;
    unsigned before = find(variable.getPosition(), variableParents);
    unsigned after = find(variable.getPosition(), parents);
    if (!changed.contains(after))
      continue;
    for (auto [q, b] : llvm::enumerate(instance.dims)) {
      if (p == q)
        continue;
      llvm::SmallDenseSet<unsigned, 8> was, is;
      collectVariables(b, variableParents, was);
      collectVariables(b, parents, is);
      if (is.contains(after) && !was.contains(before))
        return false;
    }
  }
  return true;
}

bool FusionSolver::merge(Pairs pairs) {
  llvm::SmallDenseSet<unsigned, 4> changed;
  SmallVector<unsigned> parents = tryPairs(pairs, changed);
  for (auto [i, instance] : llvm::enumerate(s.instances))
    if (findInstance(i) == i && !keepsDimsApart(instance, parents, changed))
      return false;
  for (auto [a, b] : pairs) {
    unsigned x = find(a, variableParents), y = find(b, variableParents);
    if (x == y)
      continue;
    unsigned keep = std::min(x, y), drop = std::max(x, y);
    variableParents[drop] = keep;
    isRoot[keep] = isRoot[keep] || isRoot[drop];
    if (ShapedType::isDynamic(s.variables[keep].extent)) {
      // The static extent says more.
      int64_t extent = s.variables[drop].extent;
      if (!ShapedType::isDynamic(extent))
        s.variables[keep] = s.variables[drop];
    }
  }
  return true;
}

std::optional<SmallVector<std::pair<unsigned, unsigned>>>
FusionSolver::difference(ArrayRef<AffineExpr> a, ArrayRef<AffineExpr> b) {
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  for (auto [x, y] : llvm::zip(a, b)) {
    AffineExpr cx = canonical(x, variableParents);
    AffineExpr cy = canonical(y, variableParents);
    if (cx == cy)
      continue;
    auto dx = dyn_cast<AffineDimExpr>(cx), dy = dyn_cast<AffineDimExpr>(cy);
    if (!dx || !dy)
      return std::nullopt;
    pairs.push_back({dx.getPosition(), dy.getPosition()});
  }
  return pairs;
}

/// Instances of one op that are read at the same place are one, also in the dims
/// that they reduce.
bool FusionSolver::mergeInstances() {
  llvm::MapVector<Operation *, SmallVector<unsigned>> byOp;
  for (unsigned i = 0; i < s.instances.size(); ++i)
    if (findInstance(i) == i)
      byOp[s.instances[i].op].push_back(i);
  bool changed = false;
  for (auto &[op, list] : byOp)
    for (unsigned x = 0; x < list.size(); ++x)
      for (unsigned j : ArrayRef(list).drop_front(x + 1)) {
        if (findInstance(list[x]) != list[x])
          break;
        changed |= findInstance(j) == j && mergeTwo(list[x], j);
      }
  return changed;
}

bool FusionSolver::mergeTwo(unsigned i, unsigned j) {
  Instance &a = s.instances[i], &b = s.instances[j];
  SmallVector<AffineMap> maps = a.op.getIndexingMapsArray();
  auto isNeeded = [&](const Instance &instance, AffineMap map) {
    return llvm::any_of(instance.neededResults.set_bits(), [&](unsigned r) {
      return maps[a.op.getInputs().size() + r] == map;
    });
  };
  bool same = false;
  for (unsigned r = 0; r < a.op->getNumResults() && !same; ++r) {
    AffineMap map = maps[a.op.getInputs().size() + r];
    if (!isNeeded(a, map) || !isNeeded(b, map))
      continue;
    same = llvm::all_of(map.getResults(), [&](AffineExpr e) {
      unsigned d = cast<AffineDimExpr>(e).getPosition();
      return canonical(a.dims[d], variableParents) ==
             canonical(b.dims[d], variableParents);
    });
  }
  if (!same)
    return false;
  auto pairs = difference(a.dims, b.dims);
  if (!pairs || (!pairs->empty() && !merge(*pairs)))
    return false;
  a.neededOps.insert_range(b.neededOps);
  a.neededArguments |= b.neededArguments;
  a.neededResults |= b.neededResults;
  aliases[j] = i;
  return true;
}

/// The first result of a member that is written through the same map as `tensor`:
/// they are made together.
Value FusionSolver::representative(Value tensor) {
  auto result = dyn_cast<OpResult>(tensor);
  if (!result || !members.contains(result.getOwner()))
    return tensor;
  auto op = cast<CascadeOp>(result.getOwner());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  ArrayRef<AffineMap> written =
      ArrayRef(maps).drop_front(op.getInputs().size());
  for (OpResult other : op->getResults())
    if (written[other.getResultNumber()] == written[result.getResultNumber()])
      return other;
  return tensor;
}

bool FusionSolver::mergeAccesses(bool allowMixed) {
  // By tensor, in the order of the reads; each place once.
  using Places = SmallVector<SmallVector<AffineExpr>>;
  llvm::MapVector<Value, Places> places;
  auto add = [&](Value tensor, ArrayRef<AffineExpr> index) {
    Places &list = places[representative(tensor)];
    SmallVector<AffineExpr> place = canonical(index, variableParents);
    if (!llvm::is_contained(list, place))
      list.push_back(std::move(place));
  };
  for (auto &[tensor, index] : writes)
    add(tensor, index);
  for (const Access &access : s.accesses)
    if (access.exact)
      add(access.tensor, access.index);
  for (auto &[tensor, list] : places)
    for (unsigned i = 0; i < list.size(); ++i)
      for (unsigned j = i + 1; j < list.size(); ++j) {
        auto pairs = difference(list[i], list[j]);
        if (!pairs || pairs->empty())
          continue;
        bool mixed = llvm::any_of(
            *pairs, [&](auto p) { return !isBoundMerge(p.first, p.second); });
        if (mixed && !allowMixed)
          continue;
        if (merge(*pairs))
          return true;
      }
  return false;
}

static std::string describeReadAt(ArrayRef<AffineExpr> index) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "(";
  llvm::interleaveComma(index, os, [&](AffineExpr e) {
    if (isa<AffineSymbolExpr>(e))
      os << "a run-time index";
    else
      e.print(os);
  });
  os << ")";
  return text;
}

/// Whether an instance is at all places of its op, as far as extents are known.
bool FusionSolver::isEverywhere(const Instance &instance) {
  llvm::SmallDenseSet<unsigned, 8> own;
  return llvm::all_of(
      llvm::zip_equal(instance.dims, getStaticExtents(instance.op)),
      [&](auto pair) {
        auto [expr, extent] = pair;
        auto v = dyn_cast<AffineDimExpr>(canonical(expr, variableParents));
        return v && s.variables[v.getPosition()].extent == extent &&
               own.insert(v.getPosition()).second;
      });
}

/// What an op asserts of its elements is to fail wherever it does not hold, also of an
/// element that nobody reads: it has to be computed everywhere.
LogicalResult FusionSolver::checkAssertions() {
  for (CascadeOp op : ops) {
    ArrayRef<unsigned> instances = instancesOf[op];
    if (instances.empty() ||
        op.getBody().front().getOps<cf::AssertOp>().empty() ||
        llvm::any_of(instances,
                     [&](unsigned i) { return isEverywhere(s.instances[i]); }))
      continue;
    why = {op, "assertion",
           "its elements are checked, but only some of them read, at " +
               describeReadAt(canonical(s.instances[instances.front()].dims,
                                        variableParents)),
           "keep it in a kernel of its own"};
    return failure();
  }
  return success();
}

/// A reduction is inlined where what it runs over are plain dims of its own; what
/// it keeps may be read at any index of other dims, as a window reads a
/// convolution or a label its class: it is then computed at each. A scan, and what else lives along a
/// dim of its own, needs all its dims.
LogicalResult FusionSolver::checkInstances() {
  if (failed(checkAssertions()))
    return failure();
  for (auto [i, instance] : llvm::enumerate(s.instances)) {
    if (findInstance(i) != i)
      continue;
    for (Operation *inner : instance.neededOps) {
      SmallVector<int64_t> plain, indexed;
      auto reduce = dyn_cast<ReduceOp>(inner);
      if (reduce) {
        llvm::append_range(plain, reduce.getOver());
        llvm::append_range(reduce.getReducer() == Reducer::TopK ? plain
                                                                : indexed,
                           reduce.getInto());
      } else if (isa<ScanOp, MergeTopkOp>(inner)) {
        FailureOr<DimSets> sets = DimSets::compute(
            cast<IndexProgramOpInterface>(instance.op.getOperation()));
        if (failed(sets))
          return failure();
        plain = toDims((*sets)[inner->getResult(0)]);
      } else {
        continue;
      }
      llvm::SmallDenseSet<unsigned, 8> kept, own;
      for (int64_t d : indexed)
        collectVariables(instance.dims[d], variableParents, kept);
      bool isPlain = llvm::all_of(plain, [&](int64_t d) {
        auto v = dyn_cast<AffineDimExpr>(
            canonical(instance.dims[d], variableParents));
        return v && !kept.contains(v.getPosition()) &&
               own.insert(v.getPosition()).second;
      });
      if (isPlain)
        continue;
      why = {instance.op, "non-injective access",
             "its reduced result is read at " +
                 describeReadAt(canonical(instance.dims, variableParents)) +
                 ", not at distinct plain iteration dims",
             "keep it in a kernel of its own, or read it element by element"};
      return failure();
    }
  }
  for (const Access &access : s.accesses) {
    if (access.exact || !isa<BlockArgument>(access.reader))
      continue;
    why = {s.instances[access.instance].op, "non-injective access",
           "an operand is read at " +
               describeReadAt(canonical(access.index, variableParents)) +
               ", whose extents are not those of the operand",
           "give the operands static shapes"};
    return failure();
  }
  return success();
}

void FusionSolver::finish() {
  SmallVector<unsigned> numbers(s.instances.size());
  SmallVector<Instance> instances;
  llvm::SmallSetVector<unsigned, 16> live;
  for (auto [i, instance] : llvm::enumerate(s.instances))
    instance.dims = canonical(instance.dims, variableParents);
  for (Access &access : s.accesses)
    access.index = canonical(access.index, variableParents);
  for (auto [i, instance] : llvm::enumerate(s.instances)) {
    if (findInstance(i) != i)
      continue;
    numbers[i] = instances.size();
    instances.push_back(instance);
    for (AffineExpr e : instance.dims)
      e.walk([&](AffineExpr part) {
        if (auto d = dyn_cast<AffineDimExpr>(part))
          live.insert(d.getPosition());
      });
  }
  auto number = [&](unsigned i) { return numbers[findInstance(i)]; };
  SmallVector<Access> accesses;
  for (Access &access : s.accesses) {
    access.instance = number(access.instance);
    if (access.producer >= 0)
      access.producer = number(access.producer);
    if (!s.accessOf
             .try_emplace({access.instance, access.reader}, accesses.size())
             .second)
      continue;
    accesses.push_back(std::move(access));
  }
  for (auto &[instance, v] : s.symbols)
    instance = number(instance);
  for (unsigned &i : s.outputInstances)
    i = number(i);
  s.instances = std::move(instances);
  s.accesses = std::move(accesses);
  s.live = live.takeVector();
}

FailureOr<FusionSpace> FusionSolver::run() {
  llvm::DenseMap<Operation *, unsigned> roots;
  for (CascadeOp op : ops)
    for (OpResult result : op->getResults()) {
      bool isOutput = llvm::any_of(result.getUsers(), [&](Operation *user) {
        // Uses inside bodies (tensor.extract) count for the op around them.
        for (Operation *p = user; p; p = p->getParentOp())
          if (p->getBlock() == op->getBlock())
            return !members.contains(p);
        return true;
      });
      if (!isOutput)
        continue;
      auto [it, isNew] = roots.try_emplace(op, 0);
      if (isNew) {
        SmallVector<AffineExpr> dims;
        for (unsigned d = 0; d < op.getNumIterationDims(); ++d)
          dims.push_back(dimExpr(newVariable(op, d)));
        it->second = newInstance(op, dims);
      }
      unsigned id = it->second;
      s.outputs.push_back(result);
      s.outputInstances.push_back(id);
      AffineMap map = op.getIndexingMapsArray()[op.getInputs().size() +
                                                result.getResultNumber()];
      SmallVector<AffineExpr> index;
      for (AffineExpr e : map.getResults()) {
        AffineExpr at =
            s.instances[id].dims[cast<AffineDimExpr>(e).getPosition()];
        index.push_back(at);
        isRoot[cast<AffineDimExpr>(at).getPosition()] = true;
      }
      writes.push_back({result, index});
      placesOf[representative(result)].push_back(index);
      needResult(id, result.getResultNumber());
    }
  if (s.outputs.empty()) {
    why = {ops.front(), "not used", "no result is used", "use a result"};
    return failure();
  }
  if (isTooLarge) {
    why = {ops.back(), "places",
           "its values would be read at more than " +
               std::to_string(kMostInstances) +
               " places, each reduction of a reduction making more",
           "accept several kernels"};
    return failure();
  }
  // First what is reduced in both places (or written by both), then a reduced
  // dim with a dim of an output: a gemm's reduced dim is the better partner
  // for a row sum than the columns of its result.
  while (mergeInstances() || mergeAccesses(/*allowMixed=*/false) ||
         mergeAccesses(/*allowMixed=*/true)) {
  }
  if (failed(checkInstances()))
    return failure();
  finish();
  return FusionSpace(std::move(s));
}

FailureOr<FusionSpace> FusionSpace::solve(ArrayRef<CascadeOp> ops,
                                          FusionRefusal &why) {
  return FusionSolver(ops, why).run();
}

const FusionSpace::Access *FusionSpace::findAccess(unsigned instance,
                                                   Value reader) const {
  auto it = solution.accessOf.find({instance, reader});
  return it == solution.accessOf.end() ? nullptr
                                       : &solution.accesses[it->second];
}

llvm::SmallSetVector<unsigned, 8>
FusionSpace::getVariablesOf(ArrayRef<AffineExpr> exprs) const {
  llvm::SmallSetVector<unsigned, 8> result;
  for (AffineExpr e : exprs)
    e.walk([&](AffineExpr part) {
      if (auto d = dyn_cast<AffineDimExpr>(part))
        result.insert(d.getPosition());
      if (auto sym = dyn_cast<AffineSymbolExpr>(part)) {
        unsigned instance = getSymbol(sym.getPosition()).first;
        auto inner = getVariablesOf(getInstances()[instance].dims);
        result.insert(inner.begin(), inner.end());
      }
    });
  return result;
}
