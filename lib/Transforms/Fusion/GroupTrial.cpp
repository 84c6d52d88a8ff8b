//===- GroupTrial.cpp - how a group of cascades would run -----------------===//
#include "GroupTrial.h"
#include "FusionBuilder.h"

#include "redfuse/Analysis/FusionCost.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace redfuse;

GroupTrials::GroupTrials(MLIRContext *context)
    : planner(context->getOrLoadDialect<RedfuseDialect>()
                  ->getRegisteredInterface<KernelPlannerInterface>()) {}

double redfuse::countPoints(CascadeOp op) {
  double points = 1;
  for (int64_t extent : getStaticExtents(op))
    points *= getAssumedExtent(extent);
  return points;
}

namespace {
/// A function of a group alone: what comes from outside is an argument, but for shapes,
/// constants and views, which plans depend on.
class FunctionOfGroup {
public:
  FunctionOfGroup(ModuleOp module, ArrayRef<CascadeOp> ops);

  SmallVector<CascadeOp> clones;

private:
  bool isMade(Operation *op) const;
  void make(Value v);

  OpBuilder b;
  func::FuncOp func;
  IRMapping mapping;
  llvm::SmallPtrSet<Operation *, 8> members;
};
} // namespace

/// Whether `op` is made again inside of the function: not weights, whose values say
/// nothing of a plan, and have gigabytes, and nothing that copies tensors, as there may
/// be long chains of it.
bool FunctionOfGroup::isMade(Operation *op) const {
  if (!op || op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return false;
  SplatElementsAttr splat;
  if (op->hasTrait<OpTrait::ConstantLike>())
    return !isa<ShapedType>(op->getResult(0).getType()) ||
           matchPattern(op, m_Constant(&splat));
  return isa<tensor::EmptyOp, tensor::DimOp, tensor::CastOp,
             tensor::ExtractSliceOp, tensor::CollapseShapeOp,
             tensor::ExpandShapeOp>(op);
}

void FunctionOfGroup::make(Value v) {
  if (mapping.contains(v))
    return;
  Operation *def = v.getDefiningOp();
  if (isMade(def)) {
    for (Value operand : def->getOperands())
      make(operand);
    b.clone(*def, mapping);
    return;
  }
  unsigned end = func.getNumArguments();
  (void)func.insertArgument(end, v.getType(), {}, v.getLoc());
  mapping.map(v, func.getArgument(end));
}

FunctionOfGroup::FunctionOfGroup(ModuleOp module, ArrayRef<CascadeOp> ops)
    : b(module.getBodyRegion()) {
  Location loc = b.getUnknownLoc();
  func = func::FuncOp::create(b, loc, "main", b.getFunctionType({}, {}));
  b.setInsertionPointToStart(func.addEntryBlock());
  members.insert(ops.begin(), ops.end());
  SmallVector<Value> results;
  auto isMember = [&](Operation *user) {
    return members.contains(
        ops.front()->getBlock()->findAncestorOpInBlock(*user));
  };
  double most = 0;
  for (CascadeOp op : ops)
    most = std::max(most, countPoints(op));
  // What is cheaply computed, point by point, of what comes from outside others compute
  // again: it is as much to read as that is.
  auto isForMembers = [&](CascadeOp op) {
    return isCheapMap(op) && 2 * countPoints(op) > most &&
           llvm::any_of(op->getUsers(), isMember) &&
           llvm::none_of(op->getOperands(), [&](Value v) {
             Operation *def = v.getDefiningOp();
             return def && members.contains(def);
           });
  };
  for (CascadeOp op : ops) {
    llvm::SetVector<Value> used(op->operand_begin(), op->operand_end());
    for (Region &region : op->getRegions())
      getUsedValuesDefinedAbove(region, used);
    for (Value v : used)
      make(v);
    clones.push_back(cast<CascadeOp>(b.clone(*op, mapping)));
    for (Value result : op->getResults())
      if (!isForMembers(op) && !llvm::all_of(result.getUsers(), isMember))
        results.push_back(mapping.lookup(result));
  }
  func::ReturnOp::create(b, loc, results);
  func.setType(b.getFunctionType(func.getBody().front().getArgumentTypes(),
                                 ValueRange(results).getTypes()));
}

KernelPlan GroupTrials::tryPlans(ArrayRef<CascadeOp> ops) {
  CascadeOp first = ops.front();
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(UnknownLoc::get(first.getContext()));
  (*module)->setAttr(kTargetAttr, getTargetOf(first));
  FunctionOfGroup group(*module, ops);
  std::string text;
  llvm::raw_string_ostream os(text);
  module->print(os);
  llvm::XXH128_hash_t hash =
      llvm::xxh3_128bits(llvm::arrayRefFromStringRef(text));
  auto [it, isNew] =
      known.try_emplace({hash.low64, hash.high64}, KernelPlan::Fast);
  if (!isNew)
    return it->second;
  IRRewriter rewriter(first.getContext());
  FusionRefusal why;
  FailureOr<FusionSpace> space = FusionSpace::solve(group.clones, why);
  if (failed(space))
    return KernelPlan::Fast;
  buildFusedCascade(rewriter, group.clones, *space);
  return it->second = planner->tryPlans(*module);
}

// The larger part is followed by halves, as a group may have grown one op at a time.
const Growth *GroupTrials::findSlowStep(const Growth &group, KernelPlan plan) {
  auto isSlow = [&](const Growth *part) {
    return part->first && tryPlans(part->ops) == plan;
  };
  const Growth *step = &group;
  while (step->first) {
    SmallVector<const Growth *> path{step};
    while (const Growth *first = path.back()->first.get()) {
      const Growth *second = path.back()->second.get();
      path.push_back(first->ops.size() < second->ops.size() ? second : first);
    }
    auto fast =
        std::partition_point(std::next(path.begin()), path.end(), isSlow);
    step = *std::prev(fast);
    const Growth *first = step->first.get();
    const Growth *other = *fast == first ? step->second.get() : first;
    if (!isSlow(other))
      return step;
    step = other;
  }
  return nullptr;
}
