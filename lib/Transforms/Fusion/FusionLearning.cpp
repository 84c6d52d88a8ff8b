//===- FusionLearning.cpp - what slow groups teach the fusion -------------===//
//
// Later passes are asked how a group would run. One that would run slowly is taken apart,
// and what it teaches keeps those cascades apart, or gives them another price, when the
// parts grow again.
//
//===----------------------------------------------------------------------===//
#include "FusionPlanner.h"

#include "redfuse/Analysis/TileProgram.h"

using namespace mlir;
using namespace redfuse;

bool redfuse::isReduced(CascadeOp op) {
  return llvm::any_of(op.getBody().front(),
                      [](Operation &inner) { return isRootOp(&inner); });
}

void FusionPlanner::keepApart(CascadeOp a, CascadeOp b, KernelPlan plan) {
  apart.try_emplace({a, b}, plan);
  apart.try_emplace({b, a}, plan);
}

/// Those that reduce, where both parts have some: the others may go to either.
void FusionPlanner::keepStepApart(ArrayRef<CascadeOp> a, ArrayRef<CascadeOp> b,
                                  KernelPlan plan) {
  bool isBetweenReductions =
      llvm::any_of(a, isReduced) && llvm::any_of(b, isReduced);
  for (CascadeOp x : a)
    for (CascadeOp y : b)
      if (!isBetweenReductions || (isReduced(x) && isReduced(y)))
        keepApart(x, y, plan);
}

/// Where a group had to be taken apart, each step of growing again is tried at once, not
/// one of them each time that all is taken apart: there may be hundreds to blame.
bool FusionPlanner::staysFast(const FusionGroup &fused, const FusionGroup &a,
                              const FusionGroup &b, FusionRefusal &why) {
  auto isSuspect = [&](CascadeOp op) { return suspects.contains(op); };
  if (suspects.empty() || llvm::none_of(fused.ops, isSuspect) ||
      llvm::none_of(a.ops, isReduced) || llvm::none_of(b.ops, isReduced) ||
      getLargestBetween(fused.ops) > kMostBytesBetween)
    return true;
  KernelPlan plan = trials->tryPlans(fused.ops);
  if (plan == KernelPlan::Fast || trials->tryPlans(a.ops) == plan ||
      trials->tryPlans(b.ops) == plan)
    return true;
  ++slowSteps;
  keepStepApart(a.ops, b.ops, plan);
  return !areApart(a.ops, b.ops, why);
}

/// Whether it depends on a cascade of that kind, or is one.
bool FusionPlanner::isBehind(CascadeOp op,
                             function_ref<bool(CascadeOp)> other) {
  const llvm::BitVector &before = behind[position.lookup(op)];
  return llvm::any_of(cascades, [&](CascadeOp c) {
    return (c == op || before.test(position.lookup(c))) && other(c);
  });
}

/// Keeps products apart from what a group computes for them of reductions that are no
/// products (a factor that is normalised): from one of those where the rest of the group
/// is fast without it, else from all.
bool FusionPlanner::keepComputedApart(const FusionGroup &group,
                                      ArrayRef<CascadeOp> products,
                                      KernelPlan plan) {
  auto isMember = [&](CascadeOp op) {
    return llvm::is_contained(group.ops, op);
  };
  SmallVector<std::pair<CascadeOp, CascadeOp>> edges;
  for (CascadeOp product : products)
    for (OpResult edge : producersOf(product)) {
      auto producer = cast<CascadeOp>(edge.getOwner());
      auto isOther = [&](CascadeOp op) {
        return isMember(op) && isReduced(op);
      };
      auto isProduct = [&](CascadeOp op) {
        return llvm::is_contained(products, op);
      };
      if (isMember(producer) && isBehind(producer, isOther) &&
          !isBehind(producer, isProduct))
        edges.push_back({producer, product});
    }
  for (auto [producer, product] : edges) {
    // Without what makes it, unless others need that as well.
    const llvm::BitVector &before = behind[position.lookup(producer)];
    SmallVector<CascadeOp> rest =
        llvm::filter_to_vector(group.ops, [&](CascadeOp op) {
          return op != producer && !before.test(position.lookup(op));
        });
    if (trials->tryPlans(rest) == KernelPlan::Fast)
      return keepApart(producer, product, plan), true;
  }
  for (auto [producer, product] : edges)
    keepApart(producer, product, plan);
  return !edges.empty();
}

/// The group without these, and without what is computed for them alone.
SmallVector<CascadeOp>
FusionPlanner::opsWithout(ArrayRef<CascadeOp> ops,
                          ArrayRef<CascadeOp> left) const {
  llvm::SmallPtrSet<Operation *, 8> gone(left.begin(), left.end());
  // Users come behind what they use.
  for (CascadeOp op : llvm::reverse(ops)) {
    auto isForThose = [&](Operation *user) {
      return gone.contains(block.findAncestorOpInBlock(*user));
    };
    if (!op->use_empty() && llvm::all_of(op->getUsers(), isForThose))
      gone.insert(op);
  }
  return llvm::filter_to_vector(
      ops, [&](CascadeOp op) { return !gone.contains(op); });
}

/// The last step of growth that made two fast parts a slow one; parts of what is fast may
/// be slow.
const Growth *FusionPlanner::findJoinOfFast(const FusionGroup &group) {
  auto isSlow = [&](const Growth &part) {
    return trials->tryPlans(part.ops) != KernelPlan::Fast;
  };
  const Growth *step = group.growth.get();
  while (step->first) {
    bool firstIsSlow = isSlow(*step->first),
         secondIsSlow = isSlow(*step->second);
    if (firstIsSlow && secondIsSlow)
      return nullptr;
    if (!firstIsSlow && !secondIsSlow)
      return step;
    step = firstIsSlow ? step->first.get() : step->second.get();
  }
  return nullptr;
}

static bool hasOneOf(ArrayRef<CascadeOp> ops, ArrayRef<CascadeOp> others) {
  return llvm::any_of(
      ops, [&](CascadeOp op) { return llvm::is_contained(others, op); });
}

/// Keeps two parts with products apart where each is fast and both as one are not (two
/// products with a fold between them, and a third one behind): each is worth a kernel.
bool FusionPlanner::keepProductsApart(const FusionGroup &group,
                                      ArrayRef<CascadeOp> products,
                                      KernelPlan plan) {
  const Growth *step = findJoinOfFast(group);
  size_t before = apart.size();
  if (step && hasOneOf(step->first->ops, products) &&
      hasOneOf(step->second->ops, products))
    keepStepApart(step->first->ops, step->second->ops, plan);
  return apart.size() > before;
}

/// Keeps what a group reduces before its products apart from those that read it, where it
/// is fast without (numbers of documents, of which a mask of scores is made): what is
/// computed of it element by element may still go to the products.
bool FusionPlanner::keepReducedBeforeApart(const FusionGroup &group,
                                           ArrayRef<CascadeOp> products,
                                           KernelPlan plan) {
  const Growth *step = findJoinOfFast(group);
  if (!step || hasOneOf(step->first->ops, products) ==
                   hasOneOf(step->second->ops, products))
    return false;
  bool firstIsBefore = !hasOneOf(step->first->ops, products);
  ArrayRef<CascadeOp> part = (firstIsBefore ? step->first : step->second)->ops;
  auto isProduct = [&](CascadeOp op) {
    return llvm::is_contained(products, op);
  };
  if (llvm::any_of(part, [&](CascadeOp op) { return isBehind(op, isProduct); }))
    return false;
  size_t before = apart.size();
  for (CascadeOp reader : group.ops)
    for (OpResult edge : producersOf(reader)) {
      auto producer = cast<CascadeOp>(edge.getOwner());
      if (llvm::is_contained(part, producer) && isReduced(producer) &&
          !(llvm::is_contained(part, reader) && isReduced(reader)))
        keepApart(producer, reader, plan);
    }
  return apart.size() > before;
}

static double bytesOfResults(CascadeOp op) {
  double bytes = 0;
  for (Value result : op->getResults())
    bytes += getTensorBytes(result);
  return bytes;
}

/// Keeps what is computed for a product apart from it: one factor, the one of fewest bytes,
/// where the group is fast without it (packed weights are unpacked where they are
/// multiplied, if the rows are read from memory), else all.
void FusionPlanner::keepFactorsApart(
    const FusionGroup &group, ArrayRef<std::pair<CascadeOp, CascadeOp>> factors,
    KernelPlan plan) {
  SmallVector<std::pair<CascadeOp, CascadeOp>> sorted(factors);
  llvm::stable_sort(sorted, [](auto &a, auto &b) {
    return bytesOfResults(a.first) < bytesOfResults(b.first);
  });
  for (auto [producer, product] : sorted)
    if (factors.size() > 1 &&
        trials->tryPlans(opsWithout(group.ops, {producer})) == KernelPlan::Fast)
      return keepApart(producer, product, plan);
  for (auto [producer, product] : factors)
    keepApart(producer, product, plan);
}

/// Keeps maps behind a group's reductions apart from these where the rest is fast without
/// them, and less goes from the one to the other than between two others (a column's largest
/// element, by which all are divided, and the columns as floats): those that walk all points.
bool FusionPlanner::keepMapsBehindApart(const FusionGroup &group,
                                        KernelPlan plan) {
  double most = 0;
  for (CascadeOp op : group.ops)
    most = std::max(most, countPoints(op));
  auto isMember = [&](CascadeOp op) {
    return llvm::is_contained(group.ops, op) && isReduced(op);
  };
  SmallVector<CascadeOp> maps =
      llvm::filter_to_vector(group.ops, [&](CascadeOp op) {
        return !isReduced(op) && 2 * countPoints(op) > most &&
               isBehind(op, isMember);
      });
  auto isMap = [&](CascadeOp op) { return llvm::is_contained(maps, op); };
  if (maps.empty() || llvm::any_of(group.ops, [&](CascadeOp op) {
        return !isMap(op) && isBehind(op, isMap);
      }))
    return false;
  SmallVector<CascadeOp> rest = opsWithout(group.ops, maps);
  double between = 0;
  for (CascadeOp op : maps)
    for (OpResult edge : producersOf(op)) {
      // What the group computes of its inputs the maps compute again.
      auto producer = cast<CascadeOp>(edge.getOwner());
      if (llvm::is_contained(rest, producer) && isBehind(producer, isMember))
        between += getTensorBytes(edge);
    }
  if (rest.size() < 2 || 2 * between > getLargestBetween(group.ops) ||
      trials->tryPlans(rest) != KernelPlan::Fast)
    return false;
  size_t before = apart.size();
  for (CascadeOp op : rest)
    for (CascadeOp map : maps)
      if (isReduced(op))
        keepApart(op, map, plan);
  return apart.size() > before;
}

/// What a group that would run slowly teaches; false if nothing that is not known. First,
/// that what is computed element by element for a product of matrices, of what the group
/// does not reduce, is read from memory, then what it computes of reductions, then what it
/// reduces before; then, that threads do its products; at last, that the two parts stay
/// apart that made it slow when they were joined. Where the group is slow without the first
/// as well, two parts with products may be to blame.
bool FusionPlanner::learn(const FusionGroup &group, KernelPlan plan) {
  // Products that are slow alone as well have nothing to win.
  SmallVector<CascadeOp> products =
      llvm::filter_to_vector(group.ops, [&](CascadeOp op) {
        return hasMatrixProduct(
                   cast<IndexProgramOpInterface>(op.getOperation())) &&
               trials->tryPlans({op}) == KernelPlan::Fast;
      });
  size_t before = apart.size() + scalar.size();
  auto hasLearned = [&] { return apart.size() + scalar.size() > before; };
  auto isOfReductions = [&](CascadeOp op) {
    return isBehind(op, [&](CascadeOp other) {
      return isReduced(other) && llvm::is_contained(group.ops, other);
    });
  };
  SmallVector<std::pair<CascadeOp, CascadeOp>> factors;
  SmallVector<CascadeOp> producers;
  for (CascadeOp product : products)
    for (OpResult edge : producersOf(product)) {
      auto producer = cast<CascadeOp>(edge.getOwner());
      if (!llvm::is_contained(group.ops, producer) || isOfReductions(producer))
        continue;
      factors.push_back({producer, product});
      producers.push_back(producer);
    }
  if (products.size() > 1 &&
      trials->tryPlans(opsWithout(group.ops, producers)) != KernelPlan::Fast &&
      keepProductsApart(group, products, plan))
    return true;
  keepFactorsApart(group, factors, plan);
  if (hasLearned() || keepComputedApart(group, products, plan) ||
      keepReducedBeforeApart(group, products, plan))
    return true;
  scalar.insert(products.begin(), products.end());
  if (hasLearned())
    return true;
  if (plan == KernelPlan::ScalarProducts && products.empty())
    return false;
  if (products.empty() && keepMapsBehindApart(group, plan))
    return true;
  const Growth *step = trials->findSlowStep(*group.growth, plan);
  if (!step)
    return false;
  keepStepApart(step->first->ops, step->second->ops, plan);
  suspects.insert(group.ops.begin(), group.ops.end());
  return hasLearned();
}

void FusionPlanner::dissolve(unsigned group) {
  SmallVector<CascadeOp> ops = std::move(groups[group]->ops);
  groups[group].reset();
  // What all its readers compute for themselves by now is a kernel of nobody.
  size_t before = ops.size();
  for (CascadeOp &op : llvm::reverse(ops))
    if (op->use_empty()) {
      erase(op);
      op = nullptr;
    }
  llvm::erase(ops, nullptr);
  if (ops.size() < before)
    number();
  for (CascadeOp op : ops) {
    FusionRefusal why;
    groupOf[op] = groups.size();
    groups.push_back(evaluate({op}, why));
  }
}

/// Takes apart the groups that later passes have no fast plan for; whether there were
/// any. They may grow again, by what was learned.
bool FusionPlanner::dissolveSlowGroups() {
  bool changed = false;
  for (unsigned g = 0, end = groups.size(); g < end; ++g) {
    if (!groups[g] || groups[g]->ops.size() < 2 ||
        groups[g]->cost.time < kLeastTrial * target.getLaunchNs() ||
        llvm::none_of(groups[g]->ops, isReduced) ||
        getLargestBetween(groups[g]->ops) > kMostBytesBetween ||
        llvm::any_of(groups[g]->ops,
                     [&](CascadeOp op) { return joined.contains(op); }) ||
        !tested.insert(groups[g]->version).second)
      continue;
    KernelPlan plan = trials->tryPlans(groups[g]->ops);
    if (plan == KernelPlan::Fast || !learn(*groups[g], plan))
      continue;
    dissolve(g);
    changed = true;
  }
  return changed;
}
