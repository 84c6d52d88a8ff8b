//===- StateMerge.cpp - states of several splits become one ---------------===//
#include "StateMerge.h"

#include "redfuse/Codegen/GPU/Common/CommonPivot.h"

using namespace mlir;
using namespace redfuse;

Fragment StateMerge::shapeOf(unsigned state) const {
  FoldOp fold = plan.fold;
  AffineMap map = fold.getIndexingMapsArray()[fold.getInputs().size() + state];
  return place.shapeOf(getDimsOf(simplifyForExtents(map, space.staticExtents)));
}

/// Neighbours first, so that none waits for all before it.
template <typename T>
static T combineInOrder(SmallVector<T> parts, function_ref<T(T &, T &)> merge) {
  while (parts.size() > 1) {
    SmallVector<T> next;
    for (size_t i = 0; i + 1 < parts.size(); i += 2)
      next.push_back(merge(parts[i], parts[i + 1]));
    if (parts.size() % 2 != 0)
      next.push_back(std::move(parts.back()));
    parts = std::move(next);
  }
  return std::move(parts.front());
}

/// All agree on the pivot, and each moves to it: the chain of one merge, not of one
/// for each level.
StateMerge::States StateMerge::mergeAtPivot(const CommonPivot &how,
                                            ArrayRef<States> parts) {
  FoldOp fold = plan.fold;
  Block &merge = fold.getMerge().front();
  auto merged = cast<YieldOp>(merge.getTerminator()).getValues();
  unsigned n = merged.size();
  auto agreedOf = [&](const States &part) {
    return llvm::map_to_vector(how.agreed, [&](unsigned i) { return part[i]; });
  };
  SmallVector<Value> wanted = llvm::map_to_vector(
      how.agreed, [&](unsigned i) -> Value { return merged[i]; });
  States agreed = combineInOrder<States>(
      llvm::map_to_vector(parts, agreedOf), [&](States &left, States &right) {
        DenseMap<Value, Fragment> known;
        for (auto [k, i] : llvm::enumerate(how.agreed)) {
          known[merge.getArgument(i)] = left[k];
          known[merge.getArgument(n + i)] = right[k];
        }
        return emitter.evaluate(merge, std::move(known), wanted);
      });
  wanted.clear();
  for (const CommonPivot::Moved &moved : how.moved)
    wanted.push_back(moved.contribution);
  SmallVector<States> contributions;
  for (const States &part : parts) {
    DenseMap<Value, Fragment> known;
    for (unsigned i = 0; i < n; ++i)
      known[merge.getArgument(n + i)] = part[i];
    for (auto [k, i] : llvm::enumerate(how.agreed))
      known[merged[i]] = agreed[k];
    contributions.push_back(emitter.evaluate(merge, std::move(known), wanted));
  }
  States sums = combineInOrder<States>(
      std::move(contributions), [&](States &left, States &right) {
        States both;
        for (auto [k, moved] : llvm::enumerate(how.moved))
          both.push_back(
              emitter.math.apply(moved.combine, {left[k], right[k]}));
        return both;
      });
  States result(n);
  for (auto [k, i] : llvm::enumerate(how.agreed))
    result[i] = std::move(agreed[k]);
  for (auto [k, moved] : llvm::enumerate(how.moved))
    result[moved.number] = std::move(sums[k]);
  return result;
}

StateMerge::States StateMerge::merge(SmallVector<States> parts) {
  States shapes = parts.front();
  std::optional<CommonPivot> pivot = findCommonPivot(plan.fold);
  States merged =
      pivot && pivot->isSymmetric && parts.size() > 2
          ? mergeAtPivot(*pivot, parts)
          : combineInOrder<States>(
                std::move(parts), [&](States &left, States &right) {
                  States both = std::move(left);
                  llvm::append_range(both, right);
                  return emitter.evaluate(plan.fold.getMerge().front(), both);
                });
  for (auto [state, shape] : llvm::zip_equal(merged, shapes)) {
    Fragment whole = shape;
    for (size_t e = 0; e < whole.values.size(); ++e)
      whole.values[e] = place.elementFor(state, shape, e);
    state = std::move(whole);
  }
  return merged;
}
