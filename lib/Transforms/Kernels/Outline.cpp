//===- Outline.cpp - redfuse-outline: fusion groups become kernels --------===//
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace redfuse {
#define GEN_PASS_DEF_OUTLINE
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// The cascade that `op` is a part of, and the number of the part; nothing where
/// it is whole.
static std::optional<std::pair<int64_t, int64_t>> getPass(Operation *op) {
  auto attr = op->getAttrOfType<DenseI64ArrayAttr>(kPassAttr);
  if (!attr || attr.size() != 2)
    return std::nullopt;
  return std::pair(attr[0], attr[1]);
}

/// How many of the results of `op`, the first ones, are the group's own: a
/// state, or reduced values that a later pass of the same cascade takes.
static unsigned countInternal(Operation *op, ArrayRef<Operation *> group) {
  if (auto fold = dyn_cast<FoldOp>(op))
    return fold.getNumStates();
  auto pass = getPass(op), last = getPass(group.back());
  return pass && last && pass->second < last->second ? op->getNumResults() : 0;
}

/// Whether it takes no state of a fold: all that the fold gives it are outputs,
/// or nothing.
static bool isStateless(FinalizeOp finalize) {
  return llvm::none_of(finalize->getOperands(), [](Value operand) {
    auto result = dyn_cast<OpResult>(operand);
    auto fold = result ? dyn_cast<FoldOp>(result.getOwner()) : FoldOp();
    return fold && result.getResultNumber() < fold.getNumStates();
  });
}

/// What becomes one kernel: a cascade alone, a fold and what finalises it, a
/// finalisation that needs no state, or all the passes of one cascade.
static FailureOr<SmallVector<Operation *>> groupOf(Operation *root) {
  SmallVector<Operation *> group{root};
  if (auto pass = getPass(root)) {
    for (Operation *op = root->getNextNode(); op; op = op->getNextNode())
      if (auto other = getPass(op); other && other->first == pass->first)
        group.push_back(op);
    return group;
  }
  if (isa<CascadeOp, FinalizeOp>(root))
    return group;
  auto fold = cast<FoldOp>(root);
  llvm::SetVector<Operation *> users;
  // What it writes segment by segment may be used by anybody.
  ValueRange state = fold.getResults().take_front(fold.getNumStates());
  for (Value component : state)
    users.insert_range(component.getUsers());
  for (Operation *user : users) {
    auto finalize = dyn_cast<FinalizeOp>(user);
    if (!finalize || finalize->getBlock() != fold->getBlock())
      return fold.emitOpError(
          "its state is used by more than redfuse.finalize: "
          "it cannot be outlined");
    group.push_back(finalize);
  }
  if (users.empty() && !fold.hasOutputs())
    return fold.emitOpError("nothing finalises its state");
  llvm::sort(group,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return group;
}

/// What the explanation tells of the group: of the cascade that it is, or was.
static DictionaryAttr describeGroup(ArrayRef<Operation *> group) {
  if (auto cascade = dyn_cast<CascadeOp>(group.front()))
    return describeCascade(cascade);
  return group.front()->getAttrOfType<DictionaryAttr>(kInfoAttr);
}

namespace {
/// Moves a group into a kernel of its own and launches it where its last op stood.
class GroupOutline {
public:
  GroupOutline(ArrayRef<Operation *> group)
      : group(group), members(group.begin(), group.end()),
        loc(group.front()->getLoc()) {}

  void run(StringRef name, SymbolTable &symbols, ModuleOp module);

private:
  void use(Value v);
  void findUses(Operation *op);
  void findResults(Operation *op);
  KernelOp makeKernel(OpBuilder &b, StringRef name);
  void makeStates(OpBuilder &b, IndexProgramOpInterface program,
                  unsigned numStates, IRMapping &mapping);
  void moveSchedule(Operation *clone, KernelOp kernel);
  void launch(OpBuilder &b, KernelOp kernel);

  ArrayRef<Operation *> group;
  llvm::SmallPtrSet<Operation *, 4> members;
  Location loc;
  /// What comes from outside: constants move in, everything else becomes an argument.
  llvm::SetVector<Value> inputs;
  llvm::SetVector<Operation *> constants;
  /// Destinations and results of the launch. The destinations of a fold are its own: it
  /// starts from the identities, in tensors of these sizes.
  SmallVector<Value> inits, results;
  DenseMap<Value, SmallVector<OpFoldResult>> stateSizes;
};
} // namespace

void GroupOutline::use(Value v) {
  if (Operation *def = v.getDefiningOp()) {
    if (members.contains(def))
      return;
    if (def->hasTrait<OpTrait::ConstantLike>() &&
        !isa<ShapedType>(v.getType())) {
      constants.insert(def);
      return;
    }
  }
  inputs.insert(v);
}

void GroupOutline::findUses(Operation *op) {
  for (Value v : cast<IndexProgramOpInterface>(op).getProgramInputs())
    use(v);
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value v : inner->getOperands())
        if (!region.isAncestor(v.getParentRegion()))
          use(v);
    });
}

void GroupOutline::findResults(Operation *op) {
  auto program = cast<IndexProgramOpInterface>(op);
  unsigned numStates = countInternal(op, group);
  OpBuilder b(op);
  for (Value init : program.getProgramInits().take_front(numStates)) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, init);
    for (OpFoldResult size : sizes)
      if (auto v = dyn_cast<Value>(size))
        use(v);
    stateSizes[init] = sizes;
  }
  llvm::append_range(inits, program.getProgramInits().drop_front(numStates));
  llvm::append_range(results, op->getResults().drop_front(numStates));
}

/// The tensors in which the states of an op begin, where another one has not made them.
void GroupOutline::makeStates(OpBuilder &b, IndexProgramOpInterface program,
                              unsigned numStates, IRMapping &mapping) {
  for (Value init : program.getProgramInits().take_front(numStates)) {
    if (mapping.contains(init))
      continue;
    SmallVector<OpFoldResult> sizes;
    for (OpFoldResult size : stateSizes[init])
      sizes.push_back(isa<Value>(size) ? OpFoldResult(mapping.lookupOrDefault(
                                             cast<Value>(size)))
                                       : size);
    Type element = cast<RankedTensorType>(init.getType()).getElementType();
    Value empty = tensor::EmptyOp::create(b, loc, sizes, element);
    // Sizes that fold to constants must not change the type.
    if (empty.getType() != init.getType())
      empty = tensor::CastOp::create(b, loc, init.getType(), empty);
    mapping.map(init, empty);
  }
}

/// The kernel has the schedule and the description of what it is made of.
void GroupOutline::moveSchedule(Operation *clone, KernelOp kernel) {
  clone->removeAttr(kInfoAttr);
  clone->removeAttr(kPassAttr);
  if (auto schedule = clone->getAttrOfType<ScheduleAttr>("schedule")) {
    kernel.setScheduleAttr(schedule);
    clone->removeAttr("schedule");
  }
}

KernelOp GroupOutline::makeKernel(OpBuilder &b, StringRef name) {
  auto kernel = KernelOp::create(b, loc, name, inputs.size(),
                                 /*schedule=*/nullptr, describeGroup(group));
  Block *body = new Block;
  kernel.getBody().push_back(body);
  IRMapping mapping;
  for (Value v : inputs)
    mapping.map(v, body->addArgument(v.getType(), v.getLoc()));
  // Two destinations may be the same empty tensor, but are different buffers.
  SmallVector<Value> destinations;
  for (Value v : inits)
    destinations.push_back(body->addArgument(v.getType(), v.getLoc()));
  b.setInsertionPointToStart(body);
  for (Operation *op : constants)
    b.clone(*op, mapping);
  unsigned next = 0;
  for (Operation *op : group) {
    unsigned numStates = countInternal(op, group);
    makeStates(b, cast<IndexProgramOpInterface>(op), numStates, mapping);
    Operation *clone = b.clone(*op, mapping);
    // By position: two destinations may have been the same empty tensor.
    for (OpOperand &init : llvm::drop_begin(
             cast<DestinationStyleOpInterface>(clone).getDpsInitsMutable(),
             numStates))
      init.set(destinations[next++]);
    moveSchedule(clone, kernel);
  }
  redfuse::YieldOp::create(b, loc, llvm::map_to_vector(results, [&](Value v) {
                             return mapping.lookup(v);
                           }));
  return kernel;
}

void GroupOutline::launch(OpBuilder &b, KernelOp kernel) {
  b.setInsertionPoint(group.back());
  auto launch = LaunchOp::create(
      b, loc, TypeRange(ValueRange(inits)),
      FlatSymbolRefAttr::get(b.getContext(), kernel.getSymName()),
      inputs.getArrayRef(), inits);
  // What its elements are checked for counts where nobody reads them, too.
  if (kernel.walk([](cf::AssertOp) { return WalkResult::interrupt(); })
          .wasInterrupted())
    launch->setAttr(kAssertsAttr, b.getUnitAttr());
  for (auto [from, to] : llvm::zip_equal(results, launch.getResults()))
    from.replaceAllUsesWith(to);
  for (Operation *op : llvm::reverse(group))
    op->erase();
}

void GroupOutline::run(StringRef name, SymbolTable &symbols, ModuleOp module) {
  for (Operation *op : group) {
    findUses(op);
    findResults(op);
  }
  OpBuilder b(module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  KernelOp kernel = makeKernel(b, name);
  symbols.insert(kernel);
  launch(b, kernel);
}

namespace {
struct Outline : public redfuse::impl::OutlineBase<Outline> {
  using OutlineBase::OutlineBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    for (auto func : llvm::to_vector(module.getOps<func::FuncOp>())) {
      SmallVector<Operation *> roots;
      func.walk([&](Operation *op) {
        auto pass = getPass(op);
        if (isa<CascadeOp, FoldOp>(op) && (!pass || pass->second == 0))
          roots.push_back(op);
        if (auto finalize = dyn_cast<FinalizeOp>(op);
            finalize && !pass && isStateless(finalize))
          roots.push_back(op);
      });
      for (auto [i, root] : llvm::enumerate(roots)) {
        FailureOr<SmallVector<Operation *>> group = groupOf(root);
        if (failed(group))
          return signalPassFailure();
        std::string name = (func.getSymName() + "_" + Twine(i)).str();
        GroupOutline(*group).run(name, symbols, module);
      }
    }
  }
};
} // namespace
