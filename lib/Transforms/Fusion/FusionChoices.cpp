//===- FusionChoices.cpp - what else fusion might have done ---------------===//
//
// Who compares plans asks for others than the planner's own: for cascades that begin a kernel,
// and for such as are fused with what they need. Both are named by numbers, and what was chosen
// is told by the same ones.
//
//===----------------------------------------------------------------------===//
#include "FusionPlanner.h"

using namespace mlir;
using namespace redfuse;

unsigned FusionPlanner::choose(unsigned first, ArrayRef<int64_t> cuts,
                               ArrayRef<int64_t> joins) {
  number();
  for (CascadeOp op : cascades) {
    numbers[op] = first;
    if (llvm::is_contained(joins, int64_t(first)))
      joined.insert(op);
    if (llvm::is_contained(cuts, int64_t(first)))
      for (CascadeOp other : cascades)
        if (behind[position.lookup(op)].test(position.lookup(other)))
          keepApart(other, op, KernelPlan::Fast);
    ++first;
  }
  return first;
}

/// Whether it was a price, and no rule, that has kept a cascade apart from what it needs.
static bool isOfPrice(const FusionRefusal &why) {
  return llvm::is_contained(
      {"cost", "parallelism", "recompute", "dims", "plan"}, why.condition);
}

void FusionPlanner::recordGroup(const FusionGroup &group) {
  std::set<int64_t> members, cuts, joins;
  llvm::DenseMap<int64_t, std::string> places;
  for (CascadeOp op : group.ops) {
    int64_t n = numbers.lookup(op);
    members.insert(n);
    places.try_emplace(n, describeLocation(op.getLoc()));
    for (OpResult edge : producersOf(op)) {
      Operation *producer = edge.getOwner();
      if (llvm::is_contained(group.ops, cast<CascadeOp>(producer)))
        cuts.insert(n);
      else if (isOfPrice(refusals.lookup({producer, op.getOperation()})))
        joins.insert(n);
    }
  }
  MLIRContext *context = block.getParentOp()->getContext();
  SmallVector<StringAttr> texts;
  for (int64_t n : members)
    texts.push_back(StringAttr::get(context, places[n]));
  recorded.push_back(FusedKernelAttr::get(context, llvm::to_vector(members),
                                          texts, llvm::to_vector(cuts),
                                          llvm::to_vector(joins)));
}

void FusionPlanner::record(SmallVectorImpl<Attribute> &kernels) {
  llvm::append_range(kernels, recorded);
}
