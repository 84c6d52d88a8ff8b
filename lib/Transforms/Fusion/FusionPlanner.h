//===- FusionPlanner.h - which cascades become one kernel -------*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_FUSION_FUSIONPLANNER_H
#define REDFUSE_LIB_TRANSFORMS_FUSION_FUSIONPLANNER_H

#include "FusionBuilder.h"
#include "GroupTrial.h"
#include "KernelLength.h"

#include "redfuse/Analysis/CostConstants.h"
#include "redfuse/Analysis/FusionCost.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"

#include <set>

namespace redfuse {

/// Cascades that become one kernel.
struct FusionGroup {
  SmallVector<CascadeOp> ops; // in block order
  FusionSpace space;
  GroupCost cost;
  KernelLength length;
  /// Never that of a group with other ops.
  unsigned version = 0;
  std::shared_ptr<const Growth> growth;
};

/// Plans the groups of one block. Without `prices` what reduces over the same is fused along
/// edges however long it takes.
class Planner {
public:
  Planner(Block &block, TargetAttr target, unsigned maxGroup, bool prices,
          GroupTrials *trials)
      : block(block), target(target), maxGroup(maxGroup), prices(prices),
        trials(trials) {}

  /// Keeps reductions of what is reduced over an argument's axis apart from that: a state
  /// of the axis is finished before.
  void keepBehind(func::FuncOp func, std::pair<unsigned, unsigned> argument);
  /// Whether anything was fused.
  bool run(RewriterBase &rewriter);

private:
  void eraseDead(RewriterBase &rewriter);
  void erase(CascadeOp op);
  void number();
  ArrayRef<Value> usesOf(Operation *op);
  void forgetUsers(Value v);
  SmallVector<OpResult> producersOf(CascadeOp op);
  std::optional<FusionGroup> evaluate(SmallVector<CascadeOp> ops,
                                      FusionRefusal &why);
  /// `isEdge`: one needs what the other makes.
  std::optional<FusionGroup> tryMerge(const FusionGroup &a,
                                      const FusionGroup &b, bool isEdge,
                                      FusionRefusal &why);
  bool isConvex(ArrayRef<CascadeOp> ops, FusionRefusal &why);
  bool nestsStream(ArrayRef<CascadeOp> ops, FusionRefusal &why);
  bool isWithinBounds(const FusionGroup &a, const FusionGroup &b,
                      FusionRefusal &why);
  bool isBetter(const FusionGroup &fused, const FusionGroup &a,
                const FusionGroup &b, FusionRefusal &why);
  bool areApart(ArrayRef<CascadeOp> a, ArrayRef<CascadeOp> b,
                FusionRefusal &why);
  void keepApart(CascadeOp a, CascadeOp b, KernelPlan plan);
  void keepStepApart(ArrayRef<CascadeOp> a, ArrayRef<CascadeOp> b,
                     KernelPlan plan);
  bool staysFast(const FusionGroup &fused, const FusionGroup &a,
                 const FusionGroup &b, FusionRefusal &why);
  void adopt(unsigned a, unsigned b, FusionGroup fused);
  bool growAlongEdge(Operation *producer, CascadeOp consumer);
  void growAlongEdges();
  void addReaders(unsigned group, DenseMap<Value, std::set<unsigned>> &readers);
  bool growBeside(unsigned a, unsigned b);
  void growBesideEachOther();
  SmallVector<CascadeOp> findCheapMaps(OpResult edge);
  bool duplicateFor(RewriterBase &rewriter, OpResult edge,
                    ArrayRef<CascadeOp> maps, CascadeOp consumer);
  bool duplicateCheapMaps(RewriterBase &rewriter);
  void grow(RewriterBase &rewriter);
  bool isBehind(CascadeOp op, function_ref<bool(CascadeOp)> other);
  bool keepComputedApart(const FusionGroup &group, ArrayRef<CascadeOp> products,
                         KernelPlan plan);
  bool learn(const FusionGroup &group, KernelPlan plan);
  void dissolve(unsigned group);
  bool dissolveSlowGroups();
  /// Whether this was tried with the same two groups before.
  bool isTriedAgain(Operation *producer, Operation *consumer);
  void report();
  void reportBetween(CascadeOp consumer);

  Block &block;
  TargetAttr target;
  unsigned maxGroup;
  bool prices;
  SmallVector<CascadeOp> cascades;
  llvm::DenseMap<Operation *, unsigned> position; // of every op in the block
  SmallVector<Operation *> opAt;
  SmallVector<llvm::BitVector> behind; // what each op depends on
  SmallVector<std::optional<FusionGroup>, 0> groups;
  llvm::DenseMap<Operation *, unsigned> groupOf;
  llvm::DenseMap<std::pair<Operation *, Operation *>, FusionRefusal> refusals;
  /// The values from outside that an op uses, until they change.
  llvm::DenseMap<Operation *, SmallVector<Value>> uses;
  llvm::DenseMap<std::pair<Operation *, Operation *>,
                 std::pair<unsigned, unsigned>>
      tried;
  unsigned lastVersion = 0;
  /// Asks later passes about groups; null where nobody is asked.
  GroupTrials *trials;
  llvm::DenseSet<unsigned> tested; // versions of groups
  /// What was learned: two that one kernel must not have, with how it would run; and
  /// those whose products threads do, unless they are alone.
  llvm::DenseMap<std::pair<Operation *, Operation *>, KernelPlan> apart;
  llvm::DenseSet<Operation *> scalar;
  /// Ops of groups where a step of growth was to blame: they grow by trials.
  llvm::DenseSet<Operation *> suspects;
  unsigned slowSteps = 0; // that were tried
  /// Cascades with a reduction over what is streamed, and over something else.
  llvm::DenseSet<Operation *> overStream, overOthers;
};

/// Whether a cascade has a reduction or a scan.
bool isReduced(CascadeOp op);
/// The bytes of the largest tensor that one kernel does without.
double getLargestBetween(ArrayRef<CascadeOp> ops);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_FUSION_FUSIONPLANNER_H
