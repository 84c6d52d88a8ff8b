//===- TileProgram.cpp - a body as statements over tiles ------------------===//
#include "redfuse/Conversion/TileProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace redfuse;

bool redfuse::isExpensive(Operation *op) {
  if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemFOp,
          arith::RemSIOp, arith::RemUIOp, tensor::ExtractOp>(op))
    return true;
  if (!isa_and_nonnull<math::MathDialect>(op->getDialect()))
    return false;
  return !isa<math::AbsFOp, math::AbsIOp, math::FmaOp, math::FloorOp,
              math::CeilOp, math::RoundEvenOp, math::TruncOp, math::CopySignOp>(
      op);
}

bool redfuse::isRootOp(Operation *op) {
  return isa_and_nonnull<ReduceOp, ScanOp, MergeTopkOp>(op);
}

FailureOr<std::unique_ptr<TileProgram>>
TileProgram::create(IndexProgramOpInterface op, ArrayRef<TileDim> dims,
                    function_ref<SourceLayout(unsigned)> sourceOf,
                    Options options) {
  FailureOr<DimSets> sets = DimSets::compute(op);
  if (failed(sets))
    return failure();
  std::unique_ptr<TileProgram> program(new TileProgram(op, std::move(*sets)));
  program->dims.assign(dims.begin(), dims.end());
  program->options = options;
  for (BlockArgument arg : program->body->getArguments())
    program->sources.push_back(sourceOf(arg.getArgNumber()));
  program->findRoots();
  program->computeCones();
  if (options.hasContractions)
    program->findContractions();
  program->computeCones();
  program->keepSharedValues();
  program->addKeepRoots();
  program->computeCones();
  program->formEpilogues();
  if (failed(program->formGroups()))
    return failure();
  program->chooseVectorDims();
  program->layOutBuffers();
  return program;
}

double TileProgram::capacityOf(const SmallBitVector &set) const {
  double product = 1;
  for (unsigned d : set.set_bits())
    // A dim of unknown extent counts as long.
    product *= ShapedType::isDynamic(dims[d].capacity)
                   ? 1024.0
                   : std::max<double>(1, dims[d].capacity);
  return product;
}

bool TileProgram::isStateArgument(Value v) const {
  auto fold = dyn_cast<FoldOp>(op.getOperation());
  auto arg = dyn_cast<BlockArgument>(v);
  return fold && arg && arg.getOwner() == body &&
         arg.getArgNumber() >= fold.getInputs().size();
}

Value TileProgram::getStateOf(const Root &root) const {
  auto fold = dyn_cast<FoldOp>(op.getOperation());
  if (!fold || root.kind != Root::Kind::Yield ||
      root.yieldIndex >= fold.getNumStates())
    return {};
  return body->getArgument(fold.getInputs().size() + root.yieldIndex);
}

//===----------------------------------------------------------------------===//
// Roots and their cones
//===----------------------------------------------------------------------===//

/// A reduction or scan in order that a state is combined with in front, and
/// nothing else needs: it starts from the state.
void TileProgram::findContinued(Root &root) {
  auto combining = dyn_cast_or_null<CombiningOpInterface>(root.op);
  if (!combining || !combining.isDeclared() || !combining.getOrdered() ||
      root.op->getResult(0).use_empty())
    return;
  auto combine = dyn_cast<CombineOp>(*root.op->getResult(0).user_begin());
  if (!combine || !llvm::equal(combine.getRight(), root.op->getResults()) ||
      combine.getIdentities() != combining.getIdentitiesAttr() ||
      !OperationEquivalence::isRegionEquivalentTo(
          &combine.getCombine(), &combining.getCombine(),
          OperationEquivalence::IgnoreLocations))
    return;
  // Known before the first element of the row.
  SmallBitVector row = root.dims;
  if (auto reduce = dyn_cast<ReduceOp>(root.op))
    row.reset(toDimSet(reduce.getOver(), row.size()));
  else
    row.reset(cast<ScanOp>(root.op).getDim());
  for (Value v : combine.getLeft())
    if (!isSubset(dimSets[v], row))
      return;
  for (Value v : root.op->getResults())
    if (!v.hasOneUse())
      return;
  root.continued = combine;
}

void TileProgram::findRoots() {
  unsigned numDims = dimSets.getNumDims();
  for (auto reduce : body->getOps<ReduceOp>()) {
    auto root = std::make_unique<Root>();
    root->kind = Root::Kind::Reduce;
    root->op = root->reduce = reduce;
    root->dims = toDimSet(reduce.getOver(), numDims);
    SmallBitVector into = toDimSet(reduce.getInto(), numDims);
    if (reduce.getReducer() == Reducer::TopK) {
      // The rank is made by the reduction; the nest does not walk it.
      into.reset();
      for (Value operand : reduce.getOperands())
        into |= dimSets[operand];
    }
    root->dims |= into;
    roots.push_back(std::move(root));
    findContinued(*roots.back());
    for (Value result : roots.back()->getResults())
      if (!reduce.isDeclared() || !result.use_empty())
        kept.insert(result);
  }
  for (Operation &inner : *body) {
    auto scan = dyn_cast<ScanOp>(inner);
    auto merge = dyn_cast<MergeTopkOp>(inner);
    if (!scan && !merge)
      continue;
    auto root = std::make_unique<Root>();
    root->kind = scan ? Root::Kind::Scan : Root::Kind::MergeTopk;
    root->op = &inner;
    root->dims = dimSets[inner.getResult(0)];
    // Lists are read at positions that depend on their elements: the nest does
    // not walk the rank, and the lists are in memory.
    if (merge) {
      root->dims.reset(merge.getDim());
      for (Value operand : inner.getOperands())
        if (operand.getParentBlock() == body && !isa<BlockArgument>(operand))
          kept.insert(operand);
    }
    roots.push_back(std::move(root));
    findContinued(*roots.back());
    for (Value result : roots.back()->getResults())
      if (merge || !result.use_empty())
        kept.insert(result);
  }
  for (auto assertion : body->getOps<cf::AssertOp>()) {
    auto root = std::make_unique<Root>();
    root->kind = Root::Kind::Assert;
    root->value = assertion.getArg();
    root->assertion = assertion;
    root->dims = dimSets[assertion.getArg()];
    roots.push_back(std::move(root));
  }
  auto yield = cast<YieldOp>(body->getTerminator());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned firstInit = maps.size() - op.getProgramInits().size();
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    auto root = std::make_unique<Root>();
    root->kind = Root::Kind::Yield;
    root->value = value;
    root->yieldIndex = i;
    root->dims = getDimsOf(maps[firstInit + i]);
    roots.push_back(std::move(root));
  }
}

/// Adds what `v` is computed from, down to kept values and arguments, in body
/// order.
static void addToCone(Value v, Block *body, const llvm::SetVector<Value> &kept,
                      llvm::SmallSetVector<Value, 8> &cone) {
  if (cone.contains(v))
    return;
  if (v.getParentBlock() != body)
    return; // from outside: a constant or a scalar
  if (!kept.contains(v))
    if (Operation *def = v.getDefiningOp())
      for (Value operand : def->getOperands())
        addToCone(operand, body, kept, cone);
  cone.insert(v);
}

void TileProgram::computeCones() {
  for (auto &root : roots) {
    root->cone.clear();
    if (root->op) {
      for (Value operand : root->op->getOperands())
        addToCone(operand, body, kept, root->cone);
      if (root->continued)
        for (Value v : root->continued.getLeft())
          addToCone(v, body, kept, root->cone);
    } else if (root->kind == Root::Kind::Keep) {
      // Its own value is what it makes: look through it.
      if (Operation *def = root->value.getDefiningOp())
        for (Value operand : def->getOperands())
          addToCone(operand, body, kept, root->cone);
      root->cone.insert(root->value);
    } else {
      addToCone(root->value, body, kept, root->cone);
    }
  }
}

Root *TileProgram::producerOf(Value v) const {
  for (auto &root : roots) {
    if (root->kind == Root::Kind::Keep && root->value == v)
      return root.get();
    if (root->op && llvm::is_contained(root->getResults(), v))
      return root.get();
  }
  return nullptr;
}

bool TileProgram::reaches(const Root &other, const Root &root) const {
  for (Value v : root.cone) {
    Root *producer = producerOf(v);
    if (!producer || producer == &root)
      continue;
    if (producer == &other || reaches(other, *producer))
      return true;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

std::optional<Contraction> TileProgram::matchContraction(Root &root) {
  ReduceOp reduce = root.reduce;
  if (reduce.getReducer() != Reducer::Add)
    return std::nullopt;
  Operation *product = reduce.getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::MulFOp, arith::MulIOp>(product) ||
      product->getBlock() != body)
    return std::nullopt;
  Type type = reduce.getOperand(0).getType();
  if (type.isIndex() || type.isInteger(1))
    return std::nullopt;
  Value lhs = product->getOperand(0), rhs = product->getOperand(1);
  SmallBitVector over = toDimSet(reduce.getOver(), dimSets.getNumDims());
  SmallBitVector into = toDimSet(reduce.getInto(), dimSets.getNumDims());
  double work = capacityOf(root.dims);

  // Every dim of the result that one operand alone depends on could be the one
  // whose elements share a register; take the one that needs least packing.
  std::optional<Contraction> best;
  double bestCost = 0;
  for (auto [vectorOperand, scalarOperand] :
       {std::pair(lhs, rhs), {rhs, lhs}}) {
    if (vectorOperand.getParentBlock() != body ||
        scalarOperand.getParentBlock() != body)
      return std::nullopt;
    for (unsigned n : into.set_bits()) {
      if (!dimSets[vectorOperand].test(n) || dimSets[scalarOperand].test(n))
        continue;
      SmallBitVector one(dimSets.getNumDims());
      one.set(n);
      double capacity = capacityOf(one);
      if (capacity * 2 < options.lanes)
        continue;
      auto fixed = innermost.find(vectorOperand);
      if (fixed != innermost.end() && fixed->second != n)
        continue;
      Contraction c;
      c.root = &root;
      c.vectorOperand = vectorOperand;
      c.scalarOperand = scalarOperand;
      c.n = n;
      double mCapacity = 1;
      for (unsigned d : into.set_bits()) {
        one.reset();
        one.set(d);
        if (d != n && dimSets[scalarOperand].test(d) &&
            !dimSets[vectorOperand].test(d) && capacityOf(one) > mCapacity) {
          mCapacity = capacityOf(one);
          c.m = d;
        }
      }
      for (unsigned d : into.set_bits())
        if (d != n && (!c.m || d != *c.m))
          c.outer.push_back(d);
      for (int64_t d : reduce.getOver())
        c.k.push_back(d);
      auto arg = dyn_cast<BlockArgument>(vectorOperand);
      bool isPlain = arg && sources[arg.getArgNumber()].contiguous == n;
      bool isComputed = !arg;
      if (!isPlain && !isComputed && !c.m)
        continue; // packing for one row costs more than it gains
      // Lanes that a ragged register leaves idle.
      double registers = std::ceil(capacity / options.lanes);
      double waste = registers * options.lanes / capacity;
      SmallBitVector vectorDims = dimSets[vectorOperand];
      bool isStreamed = llvm::any_of(
          vectorDims.set_bits(), [&](unsigned d) { return dims[d].isStream; });
      double packing = isPlain || isComputed
                           ? 0
                           : capacityOf(vectorDims) * (isStreamed ? 1 : 0.1);
      double cost = work * waste / options.lanes + packing * 2;
      if (!c.m)
        cost *= 2; // one load for each multiply-add
      if (!best || cost < bestCost) {
        best = c;
        bestCost = cost;
      }
    }
  }
  return best;
}

void TileProgram::findContractions() {
  for (auto &root : roots) {
    if (root->kind != Root::Kind::Reduce)
      continue;
    std::string why;
    if (std::optional<MatrixForm> form = matchMatrix(root->reduce, why)) {
      Contraction c;
      c.root = root.get();
      for (Value operand : {form->left, form->right})
        if (!isa<BlockArgument>(operand)) {
          kept.insert(operand);
          innermost.try_emplace(operand, form->sums.back());
        }
      c.n = form->columns.back();
      innermost.try_emplace(root->reduce.getResult(0), c.n);
      c.matrix = std::move(form);
      contractions[root.get()] = std::move(c);
      continue;
    }
    if (!why.empty())
      scalarProducts.push_back({root->reduce, why});
    std::optional<Contraction> c = matchContraction(*root);
    if (!c)
      continue;
    for (Value operand : {c->vectorOperand, c->scalarOperand}) {
      auto arg = dyn_cast<BlockArgument>(operand);
      bool isVector = operand == c->vectorOperand;
      bool isPlain =
          arg && (!isVector || sources[arg.getArgNumber()].contiguous == c->n);
      if (!isPlain)
        kept.insert(operand);
      if (isVector && !isPlain)
        innermost[operand] = c->n;
    }
    innermost[root->reduce.getResult(0)] = c->n;
    contractions[root.get()] = *c;
  }
}

//===----------------------------------------------------------------------===//
// Values worth keeping
//===----------------------------------------------------------------------===//

void TileProgram::keepSharedValues() {
  for (Operation &inner : *body) {
    if (inner.getNumResults() != 1 || isRootOp(&inner))
      continue;
    Value v = inner.getResult(0);
    if (kept.contains(v) || dimSets[v].none() || !isExpensive(&inner))
      continue;
    SmallVector<Root *> users;
    for (auto &root : roots)
      if (root->cone.contains(v))
        users.push_back(root.get());
    // Users that can share one nest share the value in registers.
    bool apart = false;
    for (auto [i, a] : llvm::enumerate(users))
      for (Root *b : ArrayRef(users).drop_front(i + 1))
        apart |= a->dims != b->dims || reaches(*a, *b) || reaches(*b, *a) ||
                 contractions.contains(a) || contractions.contains(b);
    if (!apart)
      continue;
    kept.insert(v);
    computeCones();
  }
  // A new state that is computed from *other* components of the old state must
  // be complete before any component is overwritten.
  if (!isa<FoldOp>(op.getOperation()))
    return;
  for (auto &root : roots) {
    Value state = getStateOf(*root);
    if (!state || kept.contains(root->value))
      continue;
    for (Value v : root->cone)
      if (isStateArgument(v) && v != state) {
        kept.insert(root->value);
        break;
      }
  }
}

void TileProgram::addKeepRoots() {
  for (Value v : kept) {
    if (producerOf(v))
      continue;
    auto root = std::make_unique<Root>();
    root->kind = Root::Kind::Keep;
    root->value = v;
    root->dims = dimSets[v];
    roots.push_back(std::move(root));
  }
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

void TileProgram::formEpilogues() {
  for (auto &root : roots) {
    if (!contractions.contains(root.get()))
      continue;
    Value result = root->reduce.getResult(0);
    SmallBitVector into =
        toDimSet(root->reduce.getInto(), dimSets.getNumDims());
    SmallVector<Root *> users;
    for (auto &user : roots)
      if (user.get() != root.get() && user->cone.contains(result))
        users.push_back(user.get());
    auto fits = [&](Root *user) {
      if (user->op || user->dims != into || user->epilogueOf ||
          contractions.contains(user))
        return false;
      for (Value v : user->cone) {
        if (v == result)
          continue;
        Root *producer = producerOf(v);
        if (producer && producer != user && reaches(*root, *producer))
          return false;
      }
      // An overwritten state must not be needed by what comes later.
      if (Value state = getStateOf(*user))
        for (auto &other : roots)
          if (other.get() != user && other->cone.contains(state) &&
              (other.get() == root.get() || reaches(*root, *other)))
            return false;
      return true;
    };
    if (users.empty() || !llvm::all_of(users, fits))
      continue;
    for (Root *user : users) {
      user->epilogueOf = root.get();
      if (user->kind == Root::Kind::Keep && !innermost.contains(user->value))
        innermost[user->value] = contractions[root.get()].n;
    }
    kept.remove(result);
  }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {
/// A root with its epilogues: what moves as one.
struct Unit {
  SmallVector<Root *> roots;
  SmallVector<unsigned> dependsOn;
  /// Subset of dependsOn that must be in an earlier nest even if the dims are
  /// the same.
  SmallVector<unsigned> strictly;
  int group = -1;
};
} // namespace

LogicalResult TileProgram::formGroups() {
  SmallVector<Unit> units;
  DenseMap<const Root *, unsigned> unitOf;
  for (auto &root : roots)
    if (!root->epilogueOf) {
      unitOf[root.get()] = units.size();
      units.push_back({{root.get()}, {}, {}, -1});
    }
  for (auto &root : roots)
    if (root->epilogueOf) {
      unsigned u = unitOf[root->epilogueOf];
      unitOf[root.get()] = u;
      units[u].roots.push_back(root.get());
    }
  for (auto [u, unit] : llvm::enumerate(units)) {
    for (Root *root : unit.roots) {
      for (Value v : root->cone)
        if (Root *producer = producerOf(v))
          if (producer != root && unitOf[producer] != u)
            unit.dependsOn.push_back(unitOf[producer]);
      Value state = getStateOf(*root);
      if (!state)
        continue;
      // Readers of the old state go first.
      for (auto &other : roots)
        if (other->cone.contains(state) && unitOf[other.get()] != u) {
          unit.dependsOn.push_back(unitOf[other.get()]);
          unit.strictly.push_back(unitOf[other.get()]);
        }
    }
  }

  // Invariance: nothing streamed, no state.
  DenseMap<const Root *, bool> invariant;
  std::function<bool(const Root *)> isInvariant = [&](const Root *root) {
    auto it = invariant.find(root);
    if (it != invariant.end())
      return it->second;
    bool result =
        !isa<FoldOp>(op.getOperation()) || root->kind != Root::Kind::Yield;
    for (unsigned d : root->dims.set_bits())
      result &= !dims[d].isStream;
    for (Value v : root->cone) {
      result &= !isStateArgument(v);
      if (Root *producer = producerOf(v))
        if (producer != root && result)
          result &= isInvariant(producer);
    }
    return invariant[root] = result;
  };

  // Topological order, body order among the ready ones.
  SmallVector<unsigned> remaining =
      llvm::to_vector(llvm::seq<unsigned>(0, units.size()));
  while (!remaining.empty()) {
    auto ready = llvm::find_if(remaining, [&](unsigned u) {
      return llvm::all_of(units[u].dependsOn,
                          [&](unsigned d) { return units[d].group >= 0; });
    });
    if (ready == remaining.end())
      return op.emitOpError(
          "the components of the state depend on each other in a cycle");
    unsigned u = *ready;
    remaining.erase(ready);
    Unit &unit = units[u];
    Root *main = unit.roots.front();
    bool isContraction = contractions.contains(main);
    SmallVector<unsigned> over;
    if (main->kind == Root::Kind::Reduce)
      over = llvm::map_to_vector(main->reduce.getOver(),
                                 [](int64_t d) { return unsigned(d); });
    if (auto scan = dyn_cast_or_null<ScanOp>(main->op))
      over.push_back(scan.getDim());
    // Code of their own.
    bool isAlone = main->kind == Root::Kind::Assert ||
                   main->kind == Root::Kind::Scan ||
                   main->kind == Root::Kind::MergeTopk ||
                   (main->kind == Root::Kind::Reduce &&
                    main->reduce.getReducer() == Reducer::TopK);
    bool isOrdered =
        main->kind == Root::Kind::Reduce && main->reduce.getOrdered();
    bool inv = llvm::all_of(unit.roots, isInvariant);

    auto canJoin = [&](unsigned g) {
      Group &group = groups[g];
      if (isContraction || isAlone || group.contraction || group.isAlone ||
          group.dims != main->dims || group.isInvariant != inv)
        return false;
      if (!group.over.empty() && !over.empty() &&
          (group.over != over || group.isOrdered != isOrdered))
        return false;
      for (unsigned d : unit.dependsOn) {
        Unit &dep = units[d];
        if (dep.group != static_cast<int>(g))
          continue;
        // Pointwise use inside one nest.
        if (dep.roots.front()->kind != Root::Kind::Keep ||
            dep.roots.front()->dims != main->dims ||
            llvm::is_contained(unit.strictly, d))
          return false;
      }
      return true;
    };
    int level = 0;
    for (unsigned d : unit.dependsOn)
      level = std::max(level, groups[units[d].group].level);
    int chosen = -1;
    for (unsigned g = 0; g < groups.size() && chosen < 0; ++g)
      if (groups[g].level >= level && canJoin(g)) {
        bool isLater = llvm::all_of(unit.dependsOn, [&](unsigned d) {
          unsigned other = units[d].group;
          return other == g || groups[other].level < groups[g].level;
        });
        if (isLater)
          chosen = g;
      }
    if (chosen < 0) {
      if (!unit.dependsOn.empty())
        ++level;
      Group group;
      group.dims = main->dims;
      group.level = level;
      group.isInvariant = inv;
      group.isAlone = isAlone;
      if (isContraction)
        group.contraction = contractions[main];
      chosen = groups.size();
      groups.push_back(group);
    }
    Group &group = groups[chosen];
    if (group.over.empty())
      group.over = over;
    group.isOrdered |= isOrdered;
    for (Root *root : unit.roots) {
      root->level = group.level;
      root->isInvariant = inv;
      group.roots.push_back(root);
    }
    unit.group = chosen;
  }
  llvm::stable_sort(
      groups, [](const Group &a, const Group &b) { return a.level < b.level; });
  return success();
}

//===----------------------------------------------------------------------===//
// Vector dims and buffers
//===----------------------------------------------------------------------===//

/// Whether every op of a combining region works on vectors.
static bool isVectorisable(Region &combine) {
  return llvm::all_of(combine.front().without_terminator(), [](Operation &op) {
    return op.hasTrait<OpTrait::Vectorizable>() ||
           op.hasTrait<OpTrait::ConstantLike>();
  });
}

/// Whether every op between the roots of a group and memory works on vectors.
static bool isVectorisable(const Group &group) {
  if (group.isAlone && group.roots.front()->kind != Root::Kind::Scan)
    return false;
  for (Root *root : group.roots) {
    auto combining = dyn_cast_or_null<CombiningOpInterface>(root->op);
    if (combining && combining.isDeclared() &&
        !isVectorisable(combining.getCombine()))
      return false;
    for (Value v : root->cone)
      if (auto combine = v.getDefiningOp<CombineOp>())
        if (!isVectorisable(combine.getCombine()))
          return false;
    for (Value v : root->cone)
      if (Operation *def = v.getDefiningOp())
        if (!isa<IndexOp, CombineOp>(def) && !isRootOp(def) &&
            !def->hasTrait<OpTrait::Vectorizable>() &&
            !def->hasTrait<OpTrait::ConstantLike>())
          return false;
  }
  return true;
}

std::optional<unsigned> TileProgram::chooseVectorDim(const Group &group) const {
  unsigned numDims = dimSets.getNumDims();
  std::optional<unsigned> best;
  double bestCost = 0;
  // Lanes are not neighbours.
  bool inOrder =
      group.isOrdered || group.roots.front()->kind == Root::Kind::Scan;
  for (unsigned d : group.dims.set_bits()) {
    if (inOrder && llvm::is_contained(group.over, d))
      continue;
    // A row alone is scalar code.
    if (SmallBitVector one = toDimSet({int64_t(d)}, numDims);
        inOrder && capacityOf(one) * 2 < options.lanes)
      continue;
    SmallBitVector one(numDims);
    one.set(d);
    double capacity = capacityOf(one);
    double steps = std::ceil(capacity / options.lanes);
    double cost = 0;
    auto access = [&](Value v, std::optional<unsigned> contiguous) {
      const SmallBitVector &set = dimSets[v];
      double points = capacityOf(set);
      if (!set.test(d))
        cost += points * 0.1; // hoisted out of the vector loop
      else if (contiguous == d)
        cost += points / capacity * steps;
      else
        cost += points * 1.5; // element by element
    };
    for (Root *root : group.roots) {
      for (Value v : root->cone) {
        auto it = innermost.find(v);
        if (auto arg = dyn_cast<BlockArgument>(v);
            arg && (!kept.contains(v) || root->value == v))
          access(v, sources[arg.getArgNumber()].contiguous);
        else if (kept.contains(v))
          access(v, it == innermost.end() ? std::optional<unsigned>(d)
                                          : it->second);
        else
          cost +=
              capacityOf(dimSets[v]) *
              (dimSets[v].test(d) ? steps / capacity : 1.0) *
              (v.getDefiningOp() && isExpensive(v.getDefiningOp()) ? 8 : 0.5);
      }
      if (root->kind == Root::Kind::Yield) {
        // The innermost dim of the destination.
        SmallVector<AffineMap> maps = op.getIndexingMapsArray();
        AffineMap map =
            maps[maps.size() - op.getProgramInits().size() + root->yieldIndex];
        std::optional<unsigned> last;
        if (map.getNumResults() > 0)
          if (auto e = dyn_cast<AffineDimExpr>(
                  map.getResult(map.getNumResults() - 1)))
            last = e.getPosition();
        double points = capacityOf(root->dims);
        cost += last == d ? points / capacity * steps : points * 1.5;
      }
      if (root->kind == Root::Kind::Reduce &&
          llvm::is_contained(group.over, d)) {
        // Folding the lanes of the accumulator at the end.
        SmallBitVector into = root->dims;
        for (unsigned o : group.over)
          into.reset(o);
        cost += capacityOf(into) * 6;
      }
    }
    if (!best || cost < bestCost) {
      best = d;
      bestCost = cost;
    }
  }
  return best;
}

void TileProgram::chooseVectorDims() {
  for (Group &group : groups)
    if (group.contraction)
      group.vectorDim = group.contraction->n;
  for (Group &group : groups) {
    if (!group.contraction && group.dims.any() && isVectorisable(group))
      group.vectorDim = chooseVectorDim(group);
    if (!group.vectorDim)
      continue;
    // What a nest makes is laid out as the nest walks it.
    auto layOut = [&](Value v) {
      if (!innermost.contains(v) && dimSets[v].test(*group.vectorDim))
        innermost[v] = *group.vectorDim;
    };
    for (Root *root : group.roots) {
      if (root->kind == Root::Kind::Keep)
        layOut(root->value);
      if (root->op)
        for (Value result : root->getResults())
          layOut(result);
    }
  }
}

std::optional<unsigned> TileProgram::getContiguous(Value v) const {
  auto it = buffers.find(v);
  if (it == buffers.end())
    return sources[cast<BlockArgument>(v).getArgNumber()].contiguous;
  return it->second.empty() ? std::nullopt
                            : std::optional<unsigned>(it->second.back());
}

void TileProgram::layOutBuffers() {
  for (Value v : kept) {
    SmallVector<unsigned> order;
    auto it = innermost.find(v);
    for (unsigned d : dimSets[v].set_bits())
      if (it == innermost.end() || it->second != d)
        order.push_back(d);
    if (it != innermost.end() && dimSets[v].test(it->second))
      order.push_back(it->second);
    // The rank of a top-k is walked by hand and stays innermost.
    if (auto reduce = v.getDefiningOp<ReduceOp>();
        reduce && reduce.getReducer() == Reducer::TopK) {
      SmallBitVector operands(dimSets.getNumDims());
      for (Value operand : reduce.getOperands())
        operands |= dimSets[operand];
      llvm::stable_sort(order, [&](unsigned a, unsigned b) {
        return operands.test(a) && !operands.test(b);
      });
    }
    buffers[v] = order;
  }
}
