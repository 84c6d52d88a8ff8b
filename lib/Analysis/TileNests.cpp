//===- TileNests.cpp - statements over tiles as loop nests ----------------===//
//
// Statements that walk the same dims and do not need each other's finished results
// share a loop nest. Of each nest one dim is walked by vectors, and what a nest
// keeps is laid out as it is walked.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/TileProgram.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

void TileProgram::formEpilogues() {
  for (auto &root : roots) {
    auto contraction = contractions.find(root.get());
    bool isScan = options.hasScanEpilogues && root->kind == Root::Kind::Scan &&
                  !root->continued && !root->total;
    if (contraction == contractions.end() && !isScan)
      continue;
    ResultRange results = root->op->getResults();
    SmallBitVector into =
        isScan ? root->dims
               : toDimSet(root->reduce.getInto(), dimSets.getNumDims());
    SmallVector<Root *> users;
    for (auto &user : roots)
      if (user.get() != root.get() && llvm::any_of(results, [&](Value v) {
            return user->cone.contains(v);
          }))
        users.push_back(user.get());
    auto fits = [&](Root *user) {
      if (user->op || user->dims != into || user->epilogueOf ||
          contractions.contains(user))
        return false;
      for (Value v : user->cone) {
        if (llvm::is_contained(results, v))
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
      if (user->kind == Root::Kind::Keep && !isScan &&
          !innermost.contains(user->value))
        innermost[user->value] = contraction->second.n;
    }
    for (Value v : results)
      kept.remove(v);
  }
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// A root with its epilogues: what moves as one.
struct TileProgram::Unit {
  SmallVector<Root *> roots;
  SmallVector<unsigned> dependsOn;
  /// Subset of dependsOn that must be in an earlier nest even if the dims are
  /// the same.
  SmallVector<unsigned> strictly;
  int nest = -1;
};

SmallVector<TileProgram::Unit, 0> TileProgram::makeUnits() const {
  SmallVector<Unit, 0> units;
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
  return units;
}

bool TileProgram::isInvariant(const Root &root,
                              DenseMap<const Root *, bool> &known) const {
  if (auto it = known.find(&root); it != known.end())
    return it->second;
  bool result =
      !isa<FoldOp>(op.getOperation()) || root.kind != Root::Kind::Yield;
  for (unsigned d : root.dims.set_bits())
    result &= !dims[d].isStream;
  for (Value v : root.cone) {
    result &= !isStateArgument(v);
    if (Root *producer = producerOf(v))
      if (producer != &root && result)
        result &= isInvariant(*producer, known);
  }
  return known[&root] = result;
}

LoopNest TileProgram::nestOf(Root &root) const {
  LoopNest nest;
  nest.dims = root.dims;
  if (root.kind == Root::Kind::Reduce) {
    nest.over = llvm::map_to_vector(root.reduce.getOver(),
                                    [](int64_t d) { return unsigned(d); });
    nest.isOrdered = root.reduce.getOrdered();
  }
  if (auto scan = dyn_cast_or_null<ScanOp>(root.op))
    nest.over.push_back(scan.getDim());
  // Code of their own.
  nest.isAlone = root.kind == Root::Kind::Assert ||
                 root.kind == Root::Kind::Scan ||
                 root.kind == Root::Kind::MergeTopk ||
                 (root.kind == Root::Kind::Reduce &&
                  root.reduce.getReducer() == Reducer::TopK);
  if (auto it = contractions.find(&root); it != contractions.end())
    nest.contraction = it->second;
  return nest;
}

/// Whether a unit, which alone is the nest `own`, may join `nest`, number `g`.
static bool canJoin(const TileProgram::Unit &unit, const LoopNest &own,
                    const LoopNest &nest, int g,
                    ArrayRef<TileProgram::Unit> units) {
  if (own.contraction || own.isAlone || nest.contraction || nest.isAlone ||
      nest.dims != own.dims || nest.isInvariant != own.isInvariant)
    return false;
  if (!nest.over.empty() && !own.over.empty() &&
      (nest.over != own.over || nest.isOrdered != own.isOrdered))
    return false;
  return llvm::none_of(unit.dependsOn, [&](unsigned d) {
    const TileProgram::Unit &other = units[d];
    // Pointwise use inside one nest.
    return other.nest == g && (other.roots.front()->kind != Root::Kind::Keep ||
                               other.roots.front()->dims != own.dims ||
                               llvm::is_contained(unit.strictly, d));
  });
}

/// The unit joins the first nest that it can, or becomes one.
void TileProgram::place(Unit &unit, LoopNest own, ArrayRef<Unit> units) {
  for (unsigned d : unit.dependsOn)
    own.level = std::max(own.level, nests[units[d].nest].level);
  for (auto [g, nest] : llvm::enumerate(nests)) {
    if (nest.level < own.level ||
        !canJoin(unit, own, nest, static_cast<int>(g), units))
      continue;
    bool isLater = llvm::all_of(unit.dependsOn, [&](unsigned d) {
      unsigned other = units[d].nest;
      return other == g || nests[other].level < nest.level;
    });
    if (!isLater)
      continue;
    unit.nest = g;
    break;
  }
  if (unit.nest < 0) {
    if (!unit.dependsOn.empty())
      ++own.level;
    unit.nest = nests.size();
    nests.push_back(own);
  }
  LoopNest &nest = nests[unit.nest];
  if (nest.over.empty())
    nest.over = own.over;
  nest.isOrdered |= own.isOrdered;
  for (Root *root : unit.roots) {
    root->level = nest.level;
    root->isInvariant = own.isInvariant;
    nest.roots.push_back(root);
  }
}

LogicalResult TileProgram::formNests() {
  SmallVector<Unit, 0> units = makeUnits();
  DenseMap<const Root *, bool> invariant;
  // Topological order, body order among the ready ones.
  SmallVector<unsigned> remaining =
      llvm::to_vector(llvm::seq<unsigned>(0, units.size()));
  while (!remaining.empty()) {
    auto ready = llvm::find_if(remaining, [&](unsigned u) {
      return llvm::all_of(units[u].dependsOn,
                          [&](unsigned d) { return units[d].nest >= 0; });
    });
    if (ready == remaining.end())
      return op.emitOpError(
          "the components of the state depend on each other in a cycle");
    Unit &unit = units[*ready];
    remaining.erase(ready);
    LoopNest own = nestOf(*unit.roots.front());
    own.isInvariant = llvm::all_of(
        unit.roots, [&](Root *root) { return isInvariant(*root, invariant); });
    place(unit, std::move(own), units);
  }
  llvm::stable_sort(nests, [](const LoopNest &a, const LoopNest &b) {
    return a.level < b.level;
  });
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

/// Whether every op between the roots of a nest and memory works on vectors.
static bool isVectorisable(const LoopNest &nest) {
  Root::Kind kind = nest.roots.front()->kind;
  if (nest.isAlone && kind != Root::Kind::Scan && kind != Root::Kind::Assert)
    return false;
  for (Root *root : nest.roots) {
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

/// Whether prefixes of lanes are made by ops on vectors.
static bool canScanLanes(ScanOp scan) {
  Reducer reducer = scan.getReducer();
  return !scan.isDeclared() && !scan.getOrdered() &&
         scan.getNumOperands() == 1 && reducer != Reducer::TopK;
}

std::optional<unsigned>
TileProgram::chooseVectorDim(const LoopNest &nest) const {
  unsigned numDims = dimSets.getNumDims();
  std::optional<unsigned> best;
  double bestCost = 0;
  // Lanes are not neighbours.
  auto scan = dyn_cast_or_null<ScanOp>(nest.roots.front()->op);
  bool inOrder =
      nest.isOrdered || (scan && !(options.scansLanes && canScanLanes(scan)));
  for (unsigned d : nest.dims.set_bits()) {
    if (inOrder && llvm::is_contained(nest.over, d))
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
    if (scan && scan.getDim() == d)
      cost += capacityOf(nest.dims) / capacity * steps * kScannedLanes;
    auto access = [&](Value v, const SourceLayout &layout) {
      const SmallBitVector &set = dimSets[v];
      double points = capacityOf(set);
      if (!set.test(d))
        cost += points * kHoistedAccess;
      else if (layout.contiguous == d)
        cost += points / capacity * steps;
      else if (layout.strided && layout.strided->first == d &&
               layout.strided->second <= options.mostStride)
        cost += points / capacity * steps * double(2 * layout.strided->second);
      else
        cost += points * kAccessOfElement;
    };
    for (Root *root : nest.roots) {
      for (Value v : root->cone) {
        auto it = innermost.find(v);
        if (auto arg = dyn_cast<BlockArgument>(v);
            arg && (!kept.contains(v) || root->value == v))
          access(v, sources[arg.getArgNumber()]);
        else if (kept.contains(v))
          access(v, {it == innermost.end() ? d : it->second, {}, true});
        else
          cost += capacityOf(dimSets[v]) *
                  (dimSets[v].test(d) ? steps / capacity : 1.0) *
                  (v.getDefiningOp() && isExpensive(v.getDefiningOp())
                       ? kExpensiveOp
                       : kSimpleOp);
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
        cost +=
            last == d ? points / capacity * steps : points * kAccessOfElement;
      }
      if (root->kind == Root::Kind::Reduce &&
          llvm::is_contained(nest.over, d)) {
        SmallBitVector into = root->dims;
        for (unsigned o : nest.over)
          into.reset(o);
        cost += capacityOf(into) * kFoldedLanes;
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
  for (LoopNest &nest : nests)
    if (nest.contraction)
      nest.vectorDim = nest.contraction->n;
  for (LoopNest &nest : nests) {
    if (!nest.contraction && nest.dims.any() && isVectorisable(nest))
      nest.vectorDim = chooseVectorDim(nest);
    if (!nest.vectorDim)
      continue;
    // What a nest makes is laid out as the nest walks it.
    auto layOut = [&](Value v) {
      if (!innermost.contains(v) && dimSets[v].test(*nest.vectorDim))
        innermost[v] = *nest.vectorDim;
    };
    for (Root *root : nest.roots) {
      if (root->kind == Root::Kind::Keep)
        layOut(root->value);
      if (root->op)
        for (ValueRange made :
             {ValueRange(root->getResults()), root->getTotals()})
          for (Value result : made)
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
