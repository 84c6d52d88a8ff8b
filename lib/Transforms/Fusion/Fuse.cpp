//===- Fuse.cpp - which cascades become one kernel ------------------------===//
#include "FusionPlanner.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Analysis/StreamedDim.h"
#include "redfuse/Analysis/TileProgram.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/FormatVariadic.h"

namespace redfuse {
#define GEN_PASS_DEF_FUSE
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// Calls `fn` for every value from outside that `op` uses, in its regions too.
static void forEachUse(Operation *op, function_ref<void(Value)> fn) {
  for (Value v : op->getOperands())
    fn(v);
  for (Region &region : op->getRegions()) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(region, captured);
    for (Value v : captured)
      fn(v);
  }
}

ArrayRef<Value> FusionPlanner::usesOf(Operation *op) {
  auto [it, isNew] = uses.try_emplace(op);
  if (isNew) {
    SmallVector<Value> found;
    forEachUse(op, [&](Value v) { found.push_back(v); });
    it->second = std::move(found);
  }
  return it->second;
}

/// What uses `v` is about to use another value.
void FusionPlanner::forgetUsers(Value v) {
  for (Operation *user : v.getUsers())
    uses.erase(block.findAncestorOpInBlock(*user));
}

/// Erases what nobody uses; the numbers of ops are to be made again.
void FusionPlanner::erase(CascadeOp op) {
  for (Value input : op->getOperands())
    forgetUsers(input);
  uses.erase(op);
  groupOf.erase(op);
  op->erase();
}

void FusionPlanner::eraseDead(RewriterBase &rewriter) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
}

void FusionPlanner::number() {
  position.clear();
  opAt.clear();
  behind.clear();
  cascades.clear();
  unsigned n = block.getOperations().size();
  for (Operation &op : block) {
    position[&op] = opAt.size();
    llvm::BitVector set(n);
    for (Value v : usesOf(&op)) {
      Operation *def = v.getDefiningOp();
      if (!def || def->getBlock() != &block)
        continue;
      unsigned p = position.lookup(def);
      set |= behind[p];
      set.set(p);
    }
    opAt.push_back(&op);
    behind.push_back(std::move(set));
    if (auto cascade = dyn_cast<CascadeOp>(op))
      cascades.push_back(cascade);
  }
}

/// The results of other cascades that `op` reads, each once.
SmallVector<OpResult> FusionPlanner::producersOf(CascadeOp op) {
  llvm::SmallSetVector<Value, 8> seen;
  unsigned numInputs = op.getInputs().size();
  for (auto [i, v] : llvm::enumerate(usesOf(op))) {
    bool isInit = i >= numInputs && i < op->getNumOperands();
    auto producer = v.getDefiningOp<CascadeOp>();
    if (!isInit && producer && producer->getBlock() == &block)
      seen.insert(v);
  }
  return llvm::map_to_vector(seen, [](Value v) { return cast<OpResult>(v); });
}

bool FusionPlanner::isConvex(ArrayRef<CascadeOp> ops, FusionRefusal &why) {
  llvm::BitVector members(opAt.size()), before(opAt.size());
  for (CascadeOp op : ops) {
    members.set(position.lookup(op));
    before |= behind[position.lookup(op)];
  }
  before.reset(members);
  unsigned first = members.find_first();
  llvm::DenseSet<unsigned> visited;
  auto isBetween = [&](unsigned p) {
    if (p < first || !behind[p].anyCommon(members))
      return false;
    why = {ops.back(), "convexity",
           "'" + opAt[p]->getName().getStringRef().str() + "' at " +
               describeLocation(opAt[p]->getLoc()) +
               " uses one part of the group and feeds another",
           "remove that op or make it fusable"};
    return true;
  };
  // A group runs as one: what any of its members needs comes before all of it.
  SmallVector<unsigned> list(before.set_bits());
  while (!list.empty()) {
    unsigned p = list.pop_back_val();
    if (isBetween(p))
      return false;
    auto it = groupOf.find(opAt[p]);
    if (it == groupOf.end() || !groups[it->second] ||
        !visited.insert(it->second).second)
      continue;
    for (CascadeOp mate : groups[it->second]->ops) {
      unsigned m = position.lookup(mate);
      if (before.test(m) || members.test(m))
        continue;
      if (isBetween(m)) {
        why.detail += ", in one kernel with '" +
                      opAt[p]->getName().getStringRef().str() + "' at " +
                      describeLocation(opAt[p]->getLoc());
        why.remedy = "none: two kernels would wait for each other";
        return false;
      }
      llvm::BitVector more(behind[m]);
      more.set(m);
      more.reset(before);
      llvm::append_range(list, more.set_bits());
      before |= more;
    }
  }
  return true;
}

std::optional<FusionGroup> FusionPlanner::evaluate(SmallVector<CascadeOp> ops,
                                                   FusionRefusal &why) {
  llvm::sort(ops, [&](CascadeOp a, CascadeOp b) {
    return position.lookup(a) < position.lookup(b);
  });
  // What only feeds the destinations of the group may stay outside; the
  // destinations of a member must not be made by another one.
  for (CascadeOp op : ops)
    for (Value init : op.getInits())
      if (auto owner = init.getDefiningOp<CascadeOp>())
        if (llvm::is_contained(ops, owner)) {
          why = {op, "destination",
                 "a destination is the result of another stage",
                 "write into a fresh tensor.empty"};
          return std::nullopt;
        }
  if (!isConvex(ops, why))
    return std::nullopt;
  FailureOr<FusionSpace> space = FusionSpace::solve(ops, why);
  if (failed(space))
    return std::nullopt;
  KernelLength length(*space, ops);
  GroupCost cost = getGroupCost(*space, target, scalar);
  auto growth = std::make_shared<Growth>(Growth{ops, nullptr, nullptr});
  return FusionGroup{std::move(ops), std::move(*space), cost,
                     length,         ++lastVersion,     std::move(growth)};
}

double redfuse::getLargestBetween(ArrayRef<CascadeOp> ops) {
  double largest = 0;
  for (CascadeOp op : ops)
    for (Value result : op->getResults()) {
      bool isInside = llvm::all_of(result.getUsers(), [&](Operation *user) {
        Operation *top = op->getBlock()->findAncestorOpInBlock(*user);
        return llvm::is_contained(ops, dyn_cast_or_null<CascadeOp>(top));
      });
      if (isInside)
        largest = std::max(largest, getTensorBytes(result));
    }
  return largest;
}

static double countPoints(const FusionSpace &space) {
  double points = 1;
  for (unsigned v : space.getVariables())
    points *= getAssumedExtent(space.getVariable(v).extent);
  return points;
}

/// Whether a part has scans, and the whole walks so many more points that their prefixes,
/// which are made in order, would be made again and again.
static bool repeatsScans(const FusionGroup &fused, const FusionGroup &part) {
  bool scans = llvm::any_of(part.ops, [](CascadeOp op) {
    return !op.getBody().front().getOps<ScanOp>().empty();
  });
  return scans &&
         countPoints(fused.space) >= kPointsOfPrefix * countPoints(part.space);
}

/// Whether maps write a result that has far fewer points than all of them: a block would be of
/// what it has in common with the others, and go through all of their points. Angles of seven
/// rows beside a cache of 2333 words for each took 1.1 ms on an H200, apart 0.03.
static bool keepsFewPoints(const FusionGroup &group) {
  if (llvm::any_of(group.ops, isReduced))
    return false;
  double points = countPoints(group.space);
  return llvm::any_of(group.ops, [&](CascadeOp op) {
    // What is cheap each reader computes for itself.
    return !isCheapMap(op) && countPoints(op) * kSingleElements < points &&
           llvm::any_of(
               op->getUsers(),
               [&](Operation *user) {
                 Operation *top = op->getBlock()->findAncestorOpInBlock(*user);
                 return !llvm::is_contained(group.ops,
                                            dyn_cast_or_null<CascadeOp>(top));
               });
  });
}

bool FusionPlanner::isBetter(const FusionGroup &fused, const FusionGroup &a,
                             const FusionGroup &b, FusionRefusal &why) {
  Operation *op = CascadeOp(b.ops.front());
  if (repeatsScans(fused, a) || repeatsScans(fused, b)) {
    why = {op, "recompute",
           "prefixes would be made again for each index of a dim that they do "
           "not have",
           "none: they are read from memory"};
    return false;
  }
  // Maps over other dims are other loops: a block would go through all of one part's for
  // what the parts have in common.
  size_t most =
      std::max(a.space.getVariables().size(), b.space.getVariables().size());
  if (fused.space.getVariables().size() > most &&
      llvm::none_of(fused.ops, isReduced)) {
    why = {op, "dims",
           llvm::formatv("neither of two maps has all {0} dims of both",
                         fused.space.getVariables().size())
               .str(),
           "write both over the same dims"};
    return false;
  }
  if (target.getName() != "cpu" && keepsFewPoints(fused)) {
    why = {op, "dims",
           "what is kept of the one is of far fewer points than the other",
           "none: it is read from memory"};
    return false;
  }
  double before = std::max(a.cost.repeats, b.cost.repeats);
  if (fused.cost.repeats >
      std::max(kMostRecompute, before * kMostMoreRecompute)) {
    why = {op, "recompute",
           llvm::formatv("the value made at {0} would be computed {1:f1} times",
                         describeLocation(fused.cost.repeated->getLoc()),
                         fused.cost.times)
               .str(),
           "read it at one place, or keep it in memory"};
    return false;
  }
  double parts = a.cost.time + b.cost.time;
  if (fused.cost.time <= kFusionDoubt * parts ||
      getLargestBetween(fused.ops) > kMostBytesBetween)
    return true;
  // Would it be better if only there were enough blocks?
  double blocks = std::max(a.cost.parallelism, b.cost.parallelism);
  if (fused.cost.parallelism < blocks && fused.cost.timeIfBusy <= parts)
    why = {op, "parallelism",
           llvm::formatv("one kernel would have {0:f0} independent blocks for "
                         "{1} units and take {2:f1} us, two have up to {3:f0} "
                         "and take {4:f1} us",
                         fused.cost.parallelism, target.getUnits(),
                         fused.cost.time / 1e3, blocks, parts / 1e3)
               .str(),
           "batch more rows, or accept two kernels"};
  else
    why = {op, "cost",
           llvm::formatv("one kernel would take {0:f1} us, two take {1:f1} us",
                         fused.cost.time / 1e3, parts / 1e3)
               .str(),
           "none: the parts are faster"};
  return false;
}

bool FusionPlanner::isWithinBounds(const FusionGroup &a, const FusionGroup &b,
                                   FusionRefusal &why) {
  if (a.ops.size() + b.ops.size() > maxGroup) {
    why = {CascadeOp(b.ops.front()), "size",
           "the group would have more than " + std::to_string(maxGroup) +
               " stages",
           "raise max-group"};
    return false;
  }
  return isShortEnough(a.length, b.length, b.ops.front(), why);
}

bool FusionPlanner::areApart(ArrayRef<CascadeOp> a, ArrayRef<CascadeOp> b,
                             FusionRefusal &why) {
  if (apart.empty())
    return false;
  for (CascadeOp x : a)
    for (CascadeOp y : b) {
      auto it = apart.find({x, y});
      if (it == apart.end())
        continue;
      if (it->second == KernelPlan::Fast) {
        why = {y, "choice", "it was asked to begin a kernel (option 'cuts')",
               "leave it to the planner"};
        return true;
      }
      why = {y, "plan",
             "in one kernel with what is at " + describeLocation(x.getLoc()) +
                 (it->second == KernelPlan::ScalarProducts
                      ? ", threads would multiply its matrices"
                  : it->second == KernelPlan::FewBlocks
                      ? ", a few blocks would pass over all of it"
                      : ", its tiles would live in memory"),
             "none: the parts are faster"};
      return true;
    }
  return false;
}

/// The variables over which what is made of `ops` is reduced or scanned.
static llvm::SmallDenseSet<unsigned> getReduced(const FusionSpace &space,
                                                ArrayRef<CascadeOp> ops) {
  llvm::SmallDenseSet<unsigned> found;
  for (const FusionSpace::Instance &instance : space.getInstances()) {
    CascadeOp op = instance.op;
    if (!llvm::is_contained(ops, op))
      continue;
    for (Operation &inner : op.getBody().front()) {
      SmallVector<int64_t> over;
      if (auto reduce = dyn_cast<ReduceOp>(inner))
        llvm::append_range(over, reduce.getOver());
      else if (auto scan = dyn_cast<ScanOp>(inner))
        over.push_back(scan.getDim());
      for (int64_t d : over)
        for (unsigned v : space.getVariablesOf(instance.dims[d]))
          found.insert(v);
    }
  }
  return found;
}

/// Whether parts of `space` reduce over the same: where one needs the other, only one
/// kernel goes through what they reduce once.
static bool reduceTogether(const FusionSpace &space, ArrayRef<CascadeOp> a,
                           ArrayRef<CascadeOp> b) {
  llvm::SmallDenseSet<unsigned> first = getReduced(space, a);
  return llvm::any_of(getReduced(space, b),
                      [&](unsigned v) { return first.contains(v); });
}

void FusionPlanner::keepBehind(func::FuncOp func,
                               std::pair<unsigned, unsigned> argument) {
  DenseMap<Operation *, StreamedAxis> dims = StreamedDim::trace(func, argument);
  for (auto cascade : block.getOps<CascadeOp>()) {
    auto found = dims.find(cascade);
    auto isStreamed = [&](int64_t d) {
      return found != dims.end() && d == int64_t(found->second.position);
    };
    for (auto reduce : cascade.getBody().front().getOps<ReduceOp>()) {
      bool isOver = llvm::any_of(reduce.getOver(), isStreamed);
      (isOver ? overStream : overOthers).insert(cascade);
    }
  }
}

/// Whether something is reduced that no reduction over what is streamed needs.
bool FusionPlanner::nestsStream(ArrayRef<CascadeOp> ops, FusionRefusal &why) {
  auto isStreamed = [&](CascadeOp op) { return overStream.contains(op); };
  if (llvm::none_of(ops, isStreamed))
    return false;
  for (CascadeOp other : ops) {
    if (!overOthers.contains(other) || isStreamed(other) ||
        llvm::any_of(ops, [&](CascadeOp op) {
          return isStreamed(op) &&
                 behind[position.lookup(op)].test(position.lookup(other));
        }))
      continue;
    why = {other, "stream",
           "a state of the streamed dim is made by what reduces it last",
           "none: a state has no other form"};
    return true;
  }
  return false;
}

std::optional<FusionGroup>
FusionPlanner::tryMerge(const FusionGroup &a, const FusionGroup &b, bool isEdge,
                        FusionRefusal &why, bool isAsked) {
  bool isFree = !prices && isEdge;
  if (!isWithinBounds(a, b, why) ||
      (!isFree && !isAsked && areApart(a.ops, b.ops, why)))
    return std::nullopt;
  SmallVector<CascadeOp> ops(a.ops);
  llvm::append_range(ops, b.ops);
  if (nestsStream(ops, why))
    return std::nullopt;
  std::optional<FusionGroup> fused = evaluate(std::move(ops), why);
  if (!fused || isAsked ||
      (isFree && reduceTogether(fused->space, a.ops, b.ops)))
    return fused;
  if (areApart(a.ops, b.ops, why) ||
      !hasFewInputs(fused->length, a.length, b.length, b.ops.front(), why) ||
      !isBetter(*fused, a, b, why) || !staysFast(*fused, a, b, why))
    return std::nullopt;
  return fused;
}

void FusionPlanner::adopt(unsigned a, unsigned b, FusionGroup fused) {
  for (CascadeOp op : fused.ops)
    groupOf[op] = a;
  fused.growth = std::make_shared<Growth>(
      Growth{fused.ops, groups[a]->growth, groups[b]->growth});
  groups[a] = std::move(fused);
  groups[b].reset();
}

bool FusionPlanner::isTriedAgain(Operation *producer, Operation *consumer) {
  std::pair<unsigned, unsigned> versions{
      groups[groupOf.lookup(producer)]->version,
      groups[groupOf.lookup(consumer)]->version};
  auto &known = tried[{producer, consumer}];
  return std::exchange(known, versions) == versions;
}

bool FusionPlanner::growAlongEdge(Operation *producer, CascadeOp consumer) {
  unsigned a = groupOf.lookup(producer), b = groupOf.lookup(consumer);
  if (a == b || isTriedAgain(producer, consumer))
    return false;
  FusionRefusal why;
  std::optional<FusionGroup> fused = tryMerge(
      *groups[a], *groups[b], /*isEdge=*/true, why, joined.contains(consumer));
  if (!fused) {
    refusals[{producer, consumer.getOperation()}] = why;
    return false;
  }
  adopt(a, b, std::move(*fused));
  return true;
}

void FusionPlanner::growAlongEdges() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (CascadeOp consumer : cascades)
      for (OpResult edge : producersOf(consumer))
        changed |= growAlongEdge(edge.getOwner(), consumer);
  }
}

/// Notes that a group reads its tensors from memory.
void FusionPlanner::addReaders(unsigned group,
                               DenseMap<Value, std::set<unsigned>> &readers) {
  for (const FusionSpace::Access &access : groups[group]->space.getAccesses())
    if (access.producer < 0)
      readers[access.tensor].insert(group);
}

bool FusionPlanner::growBeside(unsigned a, unsigned b) {
  FusionRefusal why;
  std::optional<FusionGroup> fused =
      tryMerge(*groups[a], *groups[b], /*isEdge=*/false, why);
  double least =
      std::min(groups[a]->cost.parallelism, groups[b]->cost.parallelism);
  if (!fused || fused->cost.parallelism < least ||
      fused->space.getVariables().size() >
          std::max(groups[a]->space.getVariables().size(),
                   groups[b]->space.getVariables().size()))
    return false;
  adopt(a, b, std::move(*fused));
  return true;
}

/// Cascades that read the same tensor, with no edge between them, where one
/// kernel keeps all the blocks of both.
void FusionPlanner::growBesideEachOther() {
  DenseMap<Value, std::set<unsigned>> readers;
  for (unsigned g = 0; g < groups.size(); ++g)
    if (groups[g])
      addReaders(g, readers);
  for (unsigned a = 0; a < groups.size(); ++a) {
    // The next one that reads what `a` does, which changes as `a` grows.
    auto nextAfter = [&](unsigned b) {
      std::optional<unsigned> next;
      for (const FusionSpace::Access &access : groups[a]->space.getAccesses()) {
        if (access.producer >= 0)
          continue;
        const std::set<unsigned> &others = readers[access.tensor];
        auto it = others.upper_bound(b);
        if (it != others.end() && (!next || *it < *next))
          next = *it;
      }
      return next;
    };
    if (!groups[a])
      continue;
    unsigned misses = 0;
    for (std::optional<unsigned> b = nextAfter(a); b && misses < kMostMisses;
         b = nextAfter(*b))
      if (groups[*b]) {
        unsigned slow = slowSteps;
        bool hasGrown = growBeside(a, *b);
        misses =
            hasGrown ? 0 : misses + (slowSteps > slow ? kMissesOfTrial : 1);
      }
  }
}

/// Whether it is cheap to do again for another reader: a cheap map, or a reduction of a few
/// elements each (the squares of three differences).
static bool isCheap(CascadeOp op) {
  if (isCheapMap(op))
    return true;
  SmallVector<int64_t> extents = getStaticExtents(op);
  double cost = 0, reduced = 1;
  for (Operation &inner : op.getBody().front()) {
    if (auto reduce = dyn_cast<ReduceOp>(inner)) {
      for (int64_t d : reduce.getOver())
        reduced *= getAssumedExtent(extents[d]);
      cost += double(reduce->getNumOperands());
      continue;
    }
    if (isRootOp(&inner) || !isMemoryEffectFree(&inner) ||
        getOpCost(&inner) >= kDivisionCost)
      return false;
    cost += getOpCost(&inner);
  }
  return reduced <= kFewRepeated && reduced * cost <= 2 * kCheapMapCost;
}

/// What makes `edge`, up to what is in memory anyway: cheap ones of one group, in block
/// order; none if something else is between.
SmallVector<CascadeOp> FusionPlanner::findCheapMaps(OpResult edge) {
  unsigned group = groupOf.lookup(edge.getOwner());
  auto isInMemory = [&](OpResult value) {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      auto it = groupOf.find(block.findAncestorOpInBlock(*user));
      return it == groupOf.end() || it->second != group;
    });
  };
  llvm::SmallSetVector<Operation *, 4> maps;
  maps.insert(edge.getOwner());
  for (unsigned i = 0; i < maps.size(); ++i) {
    auto map = cast<CascadeOp>(maps[i]);
    if (!isCheap(map))
      return {};
    for (OpResult input : producersOf(map))
      if (groupOf.lookup(input.getOwner()) == group && !isInMemory(input))
        maps.insert(input.getOwner());
  }
  SmallVector<CascadeOp> found = llvm::map_to_vector(
      maps, [](Operation *op) { return cast<CascadeOp>(op); });
  llvm::sort(found, [&](CascadeOp a, CascadeOp b) {
    return position.lookup(a) < position.lookup(b);
  });
  return found;
}

/// Copies of `maps`, which make `edge`, for the group of the consumer, if both are faster
/// for it.
bool FusionPlanner::duplicateFor(RewriterBase &rewriter, OpResult edge,
                                 ArrayRef<CascadeOp> maps, CascadeOp consumer) {
  unsigned a = groupOf.lookup(edge.getOwner()), b = groupOf.lookup(consumer);
  FusionRefusal why;
  if (areApart(maps, groups[b]->ops, why))
    return false;
  IRMapping mapping;
  SmallVector<CascadeOp> copies;
  for (CascadeOp map : maps) {
    rewriter.setInsertionPoint(map);
    copies.push_back(cast<CascadeOp>(rewriter.clone(*map, mapping)));
    numbers[copies.back()] = numbers.lookup(map);
  }
  Value own = mapping.lookup(Value(edge));
  // In every reader of the consumer's group, bodies included.
  forgetUsers(edge);
  rewriter.replaceUsesWithIf(edge, own, [&](OpOperand &use) {
    auto it = groupOf.find(block.findAncestorOpInBlock(*use.getOwner()));
    return it != groupOf.end() && it->second == b;
  });
  number();
  SmallVector<CascadeOp> with(groups[b]->ops);
  llvm::append_range(with, copies);
  std::optional<FusionGroup> other = evaluate(std::move(with), why);
  std::optional<FusionGroup> rest = evaluate(groups[a]->ops, why);
  double before = groups[a]->cost.time + groups[b]->cost.time;
  if (other && rest &&
      (maps.size() == 1 ? other->cost.time + rest->cost.time <= before
                        : other->cost.time + rest->cost.time < before)) {
    for (CascadeOp copy : copies)
      groupOf[copy] = b;
    auto copied = std::make_shared<Growth>(Growth{copies, nullptr, nullptr});
    other->growth =
        std::make_shared<Growth>(Growth{other->ops, groups[b]->growth, copied});
    rest->growth = groups[a]->growth;
    groups[a] = std::move(rest);
    groups[b] = std::move(other);
    return true;
  }
  forgetUsers(own);
  rewriter.replaceAllUsesWith(own, edge);
  for (CascadeOp copy : llvm::reverse(copies))
    erase(copy);
  number();
  return false;
}

/// Cheap maps whose value another group reads are computed there rather than stored, if
/// what they are made of is in memory anyway.
bool FusionPlanner::duplicateCheapMaps(RewriterBase &rewriter) {
  // A copy of the list, which changes with every attempt.
  for (CascadeOp consumer : SmallVector<CascadeOp>(cascades))
    for (OpResult edge : producersOf(consumer)) {
      auto producer = cast<CascadeOp>(edge.getOwner());
      unsigned a = groupOf.lookup(producer), b = groupOf.lookup(consumer);
      if (a == b || groups[a]->ops.size() == 1 || !isCheap(producer))
        continue;
      SmallVector<CascadeOp> maps = findCheapMaps(edge);
      if (!maps.empty() && maps.size() < groups[a]->ops.size() &&
          !isTriedAgain(producer, consumer) &&
          duplicateFor(rewriter, edge, maps, consumer))
        return true;
    }
  return false;
}

void FusionPlanner::grow(RewriterBase &rewriter) {
  growIntoReaders();
  growAlongEdges();
  tried.clear();
  while (duplicateCheapMaps(rewriter)) {
  }
  growBesideEachOther();
}

/// What stands between a cascade and what it needs of another one, where that is
/// no cascade itself: the nearest, as behind hundreds of ops that hand on a tensor
/// there are hundreds of cascades.
void FusionPlanner::reportBetween(CascadeOp consumer) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  SmallVector<std::pair<Operation *, Operation *>>
      list; // op, first of its kind
  auto addOperands = [&](Operation *op, Operation *first) {
    for (Value v : usesOf(op)) {
      Operation *def = v.getDefiningOp();
      if (def && def->getBlock() == &block && isa<TensorType>(v.getType()) &&
          seen.insert(def).second)
        list.push_back({def, first ? first : def});
    }
  };
  addOperands(consumer, nullptr);
  unsigned reported = 0;
  for (unsigned i = 0;
       i < list.size() && i < kMostVisited && reported < kMostReported; ++i) {
    auto [op, first] = list[i];
    if (!isa<CascadeOp>(op)) {
      // Destinations have no values.
      if (!isa<tensor::EmptyOp>(op))
        addOperands(op, first);
      continue;
    }
    if (op == first)
      continue; // An edge between two cascades has a reason of its own.
    ++reported;
    addRefusal(consumer, "not raised",
               "'" + first->getName().getStringRef().str() + "' at " +
                   describeLocation(first->getLoc()) +
                   " stands between it and its producer at " +
                   describeLocation(op->getLoc()),
               "write both over the same dims: this op stays one of its own, "
               "with its operand in memory");
  }
}

void FusionPlanner::report() {
  for (CascadeOp consumer : cascades)
    reportBetween(consumer);
  for (CascadeOp consumer : cascades)
    for (OpResult edge : producersOf(consumer)) {
      Operation *producer = edge.getOwner();
      if (groupOf.lookup(producer) == groupOf.lookup(consumer))
        continue;
      FusionRefusal why = refusals.lookup({producer, consumer.getOperation()});
      if (why.condition.empty())
        continue;
      addRefusal(consumer, why.condition,
                 "its producer at " + describeLocation(producer->getLoc()) +
                     " stays in another kernel: " + why.detail,
                 why.remedy);
    }
}

bool FusionPlanner::run(RewriterBase &rewriter) {
  eraseDead(rewriter);
  number();
  if (cascades.size() < 2)
    return false;
  for (CascadeOp op : cascades) {
    FusionRefusal why;
    std::optional<FusionGroup> single = evaluate({op}, why);
    if (!single) // its own body is beyond us: leave the whole block alone
      return addRefusal(op, why.condition, why.detail, why.remedy), false;
    groupOf[op] = groups.size();
    groups.push_back(std::move(single));
  }
  grow(rewriter);
  while (trials && dissolveSlowGroups())
    grow(rewriter);
  report();
  for (std::optional<FusionGroup> &group : groups)
    if (group)
      recordGroup(*group);
  bool changed = false;
  for (std::optional<FusionGroup> &group : groups) {
    if (!group || group->ops.size() < 2)
      continue;
    // Ops were cloned and moved since: solve again on what is there.
    FusionRefusal why;
    llvm::sort(group->ops,
               [](CascadeOp a, CascadeOp b) { return a->isBeforeInBlock(b); });
    FailureOr<FusionSpace> space = FusionSpace::solve(group->ops, why);
    if (failed(space))
      continue;
    buildFusedCascade(rewriter, group->ops, *space);
    changed = true;
  }
  eraseDead(rewriter);
  return changed;
}

/// Whether there is an argument with such an axis.
static bool hasAxis(func::FuncOp func, ArrayRef<int64_t> along) {
  if (along.size() != 2 || along[0] < 0 ||
      along[0] >= int64_t(func.getNumArguments()))
    return false;
  auto type = dyn_cast<RankedTensorType>(func.getArgumentTypes()[along[0]]);
  return type && along[1] >= 0 && along[1] < type.getRank();
}

/// On the module: an attribute for each kernel, where that is asked for.
static constexpr llvm::StringLiteral kFusedKernelsAttr =
    "redfuse.fused_kernels";

namespace {
struct FusePass : public redfuse::impl::FuseBase<FusePass> {
  using FuseBase::FuseBase;
  void runOnOperation() override {
    llvm::SmallSetVector<Block *, 4> blocks;
    getOperation()->walk([&](CascadeOp op) {
      if (!op->getParentOfType<KernelOp>())
        blocks.insert(op->getBlock());
    });
    IRRewriter rewriter(&getContext());
    TargetAttr target = getTargetOf(getOperation());
    GroupTrials trials(&getContext());
    bool isTried = plans && trials && target.getName() == "cuda";
    unsigned numbered = 0;
    SmallVector<Attribute> kernels;
    for (Block *block : blocks) {
      readRanks(rewriter, *block);
      widenSlicedReductions(rewriter, *block);
      FusionPlanner planner(*block, target, maxGroup, prices,
                            isTried ? &trials : nullptr);
      auto func = dyn_cast<func::FuncOp>(block->getParentOp());
      // A negative argument: an axis that is said later.
      if (func && hasAxis(func, along))
        planner.keepBehind(func, {unsigned(along[0]), unsigned(along[1])});
      numbered = planner.choose(numbered, cuts, joins);
      planner.run(rewriter);
      planner.record(kernels);
    }
    if (record)
      getOperation()->setAttr(kFusedKernelsAttr,
                              ArrayAttr::get(&getContext(), kernels));
  }
};
} // namespace
