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
  /// A number that no group with other ops has had.
  unsigned version = 0;
  /// The two groups that it was made of, and theirs; null for one op.
  std::shared_ptr<const Growth> growth;
};

/// Plans the groups of one block. Each cascade begins as a group of its own; groups are
/// merged while that is predicted to be faster; those that later passes have no fast plan
/// for are taken apart again, and grow anew by what that has taught. Without `prices` what
/// reduces over the same is fused along edges however long it takes.
class FusionPlanner {
public:
  FusionPlanner(Block &block, TargetAttr target, unsigned maxGroup, bool prices,
                GroupTrials *trials)
      : block(block), target(target), maxGroup(maxGroup), prices(prices),
        trials(trials) {}

  /// Keeps reductions of what is reduced over an argument's axis apart from that: a state
  /// of the axis is finished before.
  void keepBehind(func::FuncOp func, std::pair<unsigned, unsigned> argument);
  /// Numbers the cascades from `first` on, and has those in `cuts` begin a kernel, and those in
  /// `joins` be fused with what they need; returns the first number after them. Before `run`.
  unsigned choose(unsigned first, ArrayRef<int64_t> cuts,
                  ArrayRef<int64_t> joins);
  /// Adds an attribute for each kernel, as `run` has made them.
  void record(SmallVectorImpl<Attribute> &kernels);
  /// Whether anything was fused.
  bool run(RewriterBase &rewriter);

private:
  //===--------------------------------------------------------------------===//
  // The block
  //===--------------------------------------------------------------------===//

  /// Numbers the ops of the block, and finds what each depends on.
  void number();
  /// The values from outside that an op and its regions use.
  ArrayRef<Value> usesOf(Operation *op);
  /// What uses `v` is about to use another value.
  void forgetUsers(Value v);
  /// The results of other cascades that `op` reads, each once.
  SmallVector<OpResult> producersOf(CascadeOp op);
  /// Whether `op` is a cascade of that kind, or depends on one.
  bool isBehind(CascadeOp op, function_ref<bool(CascadeOp)> other);
  /// Erases a cascade that nobody uses; the numbers of ops are to be made again.
  void erase(CascadeOp op);
  void eraseDead(RewriterBase &rewriter);

  //===--------------------------------------------------------------------===//
  // Whether cascades may, and should, be one kernel: no says why
  //===--------------------------------------------------------------------===//

  /// The group of these ops, if they can be one kernel at all, with its cost.
  std::optional<FusionGroup> evaluate(SmallVector<CascadeOp> ops,
                                      FusionRefusal &why);
  /// Both groups as one, if that is allowed and better, or asked for. `isEdge`: one needs
  /// what the other makes.
  std::optional<FusionGroup> tryMerge(const FusionGroup &a,
                                      const FusionGroup &b, bool isEdge,
                                      FusionRefusal &why, bool isAsked = false);
  /// Whether nothing outside of the group needs a part of it and is needed by another.
  bool isConvex(ArrayRef<CascadeOp> ops, FusionRefusal &why);
  /// Whether something is reduced that no reduction over what is streamed needs.
  bool nestsStream(ArrayRef<CascadeOp> ops, FusionRefusal &why);
  /// Whether a group of both is not too long to be compiled as one.
  bool isWithinBounds(const FusionGroup &a, const FusionGroup &b,
                      FusionRefusal &why);
  /// Whether the group is predicted to take no longer than its parts.
  bool isBetter(const FusionGroup &fused, const FusionGroup &a,
                const FusionGroup &b, FusionRefusal &why);

  //===--------------------------------------------------------------------===//
  // Growing: each step says whether it changed anything
  //===--------------------------------------------------------------------===//

  /// All that follows, once.
  void grow(RewriterBase &rewriter);
  /// Group `a` becomes `fused`, and `b` is gone.
  void adopt(unsigned a, unsigned b, FusionGroup fused);
  bool growAlongEdge(Operation *producer, CascadeOp consumer);
  void growAlongEdges();
  /// Whether this was tried with the same two groups before.
  bool isTriedAgain(Operation *producer, Operation *consumer);
  /// Groups that read the same tensor, with no edge between them.
  bool growBeside(unsigned a, unsigned b);
  void growBesideEachOther();
  /// Notes that a group reads its tensors from memory.
  void addReaders(unsigned group, DenseMap<Value, std::set<unsigned>> &readers);
  /// Cheap maps that another group reads are computed there as well: those that make
  /// `edge`, copies of them for the group of one consumer, and for all groups.
  SmallVector<CascadeOp> findCheapMaps(OpResult edge);
  bool duplicateFor(RewriterBase &rewriter, OpResult edge,
                    ArrayRef<CascadeOp> maps, CascadeOp consumer);
  bool duplicateCheapMaps(RewriterBase &rewriter);

  //===--------------------------------------------------------------------===//
  // What belongs to its reader (FusionReaders.cpp)
  //===--------------------------------------------------------------------===//

  bool isOfWindows(CascadeOp map);
  void growIntoReaders();

  //===--------------------------------------------------------------------===//
  // Learning from how later passes would run a group (FusionLearning.cpp)
  //===--------------------------------------------------------------------===//

  /// Whether it was learned that something of `a` and something of `b` must not be in one
  /// kernel.
  bool areApart(ArrayRef<CascadeOp> a, ArrayRef<CascadeOp> b,
                FusionRefusal &why);
  /// Notes that: of two cascades, and of two parts.
  void keepApart(CascadeOp a, CascadeOp b, KernelPlan plan);
  void keepStepApart(ArrayRef<CascadeOp> a, ArrayRef<CascadeOp> b,
                     KernelPlan plan);
  /// Notes that products are apart from what a group computes for them.
  bool keepComputedApart(const FusionGroup &group, ArrayRef<CascadeOp> products,
                         KernelPlan plan);
  SmallVector<CascadeOp> opsWithout(ArrayRef<CascadeOp> ops,
                                    ArrayRef<CascadeOp> left) const;
  /// Notes that products are apart from factors that are computed for them, or one of them.
  void keepFactorsApart(const FusionGroup &group,
                        ArrayRef<std::pair<CascadeOp, CascadeOp>> factors,
                        KernelPlan plan);
  const Growth *findJoinOfFast(const FusionGroup &group);
  /// Notes that two parts of a group, each with products, are apart.
  bool keepProductsApart(const FusionGroup &group, ArrayRef<CascadeOp> products,
                         KernelPlan plan);
  /// Notes that maps behind reductions are apart from these.
  bool keepMapsBehindApart(const FusionGroup &group, KernelPlan plan);
  /// Notes that what is reduced before products is apart from what reads it.
  bool keepReducedBeforeApart(const FusionGroup &group,
                              ArrayRef<CascadeOp> products, KernelPlan plan);
  /// Whether a step of growth, of ops that were in a slow group, leaves the plan fast.
  bool staysFast(const FusionGroup &fused, const FusionGroup &a,
                 const FusionGroup &b, FusionRefusal &why);
  /// Draws a conclusion from a group that would run slowly; false if there is no new one.
  bool learn(const FusionGroup &group, KernelPlan plan);
  /// Makes a group of each op of a group again.
  void dissolve(unsigned group);
  /// Does both to all slow groups; whether there were any.
  bool dissolveSlowGroups();

  //===--------------------------------------------------------------------===//
  // What `explain` says of cascades that are not in one kernel
  //===--------------------------------------------------------------------===//

  void report();
  /// Notes the numbers of a group's cascades, and what else they might be asked for.
  void recordGroup(const FusionGroup &group);
  void reportBetween(CascadeOp consumer);

  Block &block;
  TargetAttr target;
  unsigned maxGroup;
  bool prices;
  SmallVector<CascadeOp> cascades;
  /// Every op of the block by its number, and the other way round; and what each depends
  /// on.
  llvm::DenseMap<Operation *, unsigned> position;
  SmallVector<Operation *> opAt;
  SmallVector<llvm::BitVector> behind;
  SmallVector<std::optional<FusionGroup>, 0> groups;
  llvm::DenseMap<Operation *, unsigned> groupOf;
  /// Why a consumer is not in the kernel of its producer.
  llvm::DenseMap<std::pair<Operation *, Operation *>, FusionRefusal> refusals;
  /// The values from outside that an op uses, until they change.
  llvm::DenseMap<Operation *, SmallVector<Value>> uses;
  /// The versions of the groups of a producer and a consumer when they were tried.
  llvm::DenseMap<std::pair<Operation *, Operation *>,
                 std::pair<unsigned, unsigned>>
      tried;
  unsigned lastVersion = 0;
  /// Asks later passes about groups; null where nobody is asked.
  GroupTrials *trials;
  llvm::DenseSet<unsigned> tested; // versions of groups
  /// What was learned: two that one kernel must not have, with how it would run (Fast: it was
  /// asked for); and those whose products threads do, unless they are alone.
  llvm::DenseMap<std::pair<Operation *, Operation *>, KernelPlan> apart;
  llvm::DenseSet<Operation *> scalar;
  /// Ops of groups where a step of growth was to blame: they grow by trials.
  llvm::DenseSet<Operation *> suspects;
  unsigned slowSteps = 0; // that were tried
  /// The numbers of cascades, of copies those of what they are copies of; those that are asked
  /// to be fused with what they need; and what was said of each kernel.
  llvm::DenseMap<Operation *, int64_t> numbers;
  llvm::DenseSet<Operation *> joined;
  SmallVector<Attribute> recorded;
  /// Cascades with a reduction over what is streamed, and over something else.
  llvm::DenseSet<Operation *> overStream, overOthers;
};

/// Whether a cascade has a reduction or a scan.
bool isReduced(CascadeOp op);
/// The bytes of the largest tensor that one kernel does without.
double getLargestBetween(ArrayRef<CascadeOp> ops);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_FUSION_FUSIONPLANNER_H
