//===- PersistRounds.cpp - redfuse-persist-rounds -------------------------===//
//
// The loop that redfuse-plan-rounds has planned moves into a kernel: what the host computed for
// each launch, the kernel's body, and a barrier of the cluster in the place of the next launch.
// A warp does in all rounds what one warp of one block does in the first; which one, its number
// says. What no round writes and every round reads (weights) is loaded once, and stays in
// registers; what else a round reads is all under way before it computes anything.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/GPU/Common/Cluster.h"
#include "redfuse/Codegen/GPU/Rounds.h"
#include "redfuse/Codegen/Passes.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

namespace redfuse {
#define GEN_PASS_DEF_PERSISTROUNDS
#include "redfuse/Codegen/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

/// Elements that a thread may load before the first round and keep, and registers of a
/// multiprocessor of which it keeps as many free for what it computes.
static constexpr int64_t kMostKept = 64, kRegisters = 65536, kComputing = 72;

namespace {
class Persister {
public:
  Persister(scf::ForOp loop, RoundsPlanAttr plan)
      : loop(loop), plan(plan), b(loop) {}

  /// Makes the kernel and its launch; fails, with all as it was, where the kernel has something
  /// that is of a block alone.
  LogicalResult run(llvm::StringMap<gpu::GPUFuncOp> &known);

private:
  LogicalResult refuse(Operation *op, StringRef why);
  LogicalResult findKernel();
  bool isAllowed(Operation *op) const;
  LogicalResult collectWritten();
  bool isWritten(Value v) const;
  gpu::GPUFuncOp makeFunction(size_t number);
  void bindThread();
  void cloneRound(IRMapping &mapping, scf::ForOp rounds);
  void moveLoads(scf::ForOp rounds, scf::IfOp own);
  void replaceLoop(gpu::GPUFuncOp func);

  scf::ForOp loop;
  RoundsPlanAttr plan;
  OpBuilder b;
  gpu::LaunchFuncOp launch;
  gpu::GPUFuncOp kernel;
  int64_t blocks = 0, threads = 0;
  /// What the rounds read from outside, by the number of the new kernel's argument.
  llvm::SetVector<Value> captured;
  /// Buffers that some round writes; and what they are called in the new kernel.
  llvm::SmallSetVector<Value, 4> written;
  llvm::SmallPtrSet<Value, 8> writtenInside;
  /// Whether the warp has work, and that of its warp of a block.
  Value isActive, thread, block;
};
} // namespace

/// The memref that an op loads from; null if none.
static Value getLoaded(Operation *op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return load.getMemRef();
  auto load = dyn_cast<vector::LoadOp>(op);
  return load ? load.getBase() : Value();
}

/// The memref that an op stores to; null if none.
static Value getStored(Operation *op) {
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return store.getMemRef();
  auto store = dyn_cast<vector::StoreOp>(op);
  return store ? store.getBase() : Value();
}

/// The number that a value is, where its operands are such.
static std::optional<int64_t> evaluate(Value v) {
  if (std::optional<int64_t> constant = getConstantIntValue(v))
    return constant;
  Operation *def = v.getDefiningOp();
  if (!def || !isMemoryEffectFree(def) || def->getNumResults() != 1)
    return std::nullopt;
  SmallVector<Attribute> operands;
  for (Value operand : def->getOperands()) {
    std::optional<int64_t> number = evaluate(operand);
    if (!number)
      return std::nullopt;
    operands.push_back(IntegerAttr::get(operand.getType(), *number));
  }
  SmallVector<OpFoldResult> results;
  if (failed(def->fold(operands, results)) || results.size() != 1)
    return std::nullopt;
  // One of its operands, or a number.
  if (auto same = dyn_cast<Value>(results.front()))
    return evaluate(same);
  return getConstantIntValue(results.front());
}

LogicalResult Persister::refuse(Operation *op, StringRef why) {
  return op->emitRemark() << "each round stays a launch: " << why;
}

bool Persister::isAllowed(Operation *op) const {
  if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op))
    return assembly.getAsmString().starts_with("griddepcontrol.");
  if (auto id = dyn_cast<gpu::BlockIdOp>(op))
    return id.getDimension() == gpu::Dimension::x;
  if (auto id = dyn_cast<gpu::ThreadIdOp>(op))
    return id.getDimension() == gpu::Dimension::x;
  if (isa<gpu::BarrierOp, gpu::GridDimOp, gpu::BlockDimOp>(op))
    return false;
  if (Value v = getLoaded(op) ? getLoaded(op) : getStored(op))
    return !gpu::GPUDialect::hasWorkgroupMemoryAddressSpace(
        cast<MemRefType>(v.getType()));
  // Views of shared memory that nothing reads.
  if (isa<gpu::DynamicSharedMemoryOp>(op) || isOfViews(op))
    return true;
  return isa<gpu::ShuffleOp, gpu::ReturnOp, scf::IfOp, scf::ForOp,
             scf::YieldOp>(op);
}

LogicalResult Persister::findKernel() {
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (auto found = dyn_cast<gpu::LaunchFuncOp>(op); found && !launch)
      launch = found;
    else if (!isOfViews(&op))
      return refuse(&op, "the host does more in a round than to launch once");
  }
  if (!launch || !launch.getAsyncDependencies().empty())
    return refuse(loop, "no kernel is launched in order");
  kernel = SymbolTable::lookupNearestSymbolFrom<gpu::GPUFuncOp>(
      launch, launch.getKernel());
  std::optional<int64_t> x = evaluate(launch.getGridSizeX());
  if (!kernel || !x || !kernel.getKnownBlockSize() ||
      !kernel.getWorkgroupAttributions().empty())
    return refuse(launch, "the blocks are not known, or share memory");
  blocks = *x;
  threads = kernel.getKnownBlockSize()->front();
  int64_t warps = threads / kRoundWarp;
  if (threads % kRoundWarp != 0 || blocks % plan.getGridParts() != 0 ||
      warps % plan.getWarpParts() != 0 ||
      (plan.getWarpParts() != 1 && plan.getWarpParts() != warps) ||
      plan.getWarps() * plan.getCluster() <
          blocks / plan.getGridParts() * (warps / plan.getWarpParts()))
    return refuse(launch, "the plan is one of other blocks");
  Operation *other = nullptr;
  kernel.getBody().walk([&](Operation *op) {
    if (!other && !isAllowed(op))
      other = op;
  });
  if (other)
    return refuse(other, "a warp does not do this for itself");
  return success();
}

/// The buffers behind operands that the kernel stores to.
LogicalResult Persister::collectWritten() {
  WalkResult walked = kernel.walk([&](Operation *op) {
    Value v = getStored(op);
    if (!v)
      return WalkResult::advance();
    while (auto view = v.getDefiningOp<ViewLikeOpInterface>())
      v = view.getViewSource();
    auto argument = dyn_cast<BlockArgument>(v);
    if (!argument || argument.getOwner() != &kernel.getBody().front() ||
        failed(collectBuffers(launch.getKernelOperand(argument.getArgNumber()),
                              written)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return refuse(launch, "it is not known what is written");
  return success();
}

gpu::GPUFuncOp Persister::makeFunction(size_t number) {
  llvm::SetVector<Value> used(loop->operand_begin(), loop->operand_end());
  getUsedValuesDefinedAbove(loop.getRegion(), used);
  for (Value v : used)
    if (!matchPattern(v, m_Constant()))
      captured.insert(v);
  std::string name = (kernel.getName() + "_rounds").str();
  if (number != 0)
    name += "_" + std::to_string(number);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(kernel);
  SmallVector<Value> values(captured.begin(), captured.end());
  auto func = gpu::GPUFuncOp::create(
      b, loop.getLoc(), name,
      b.getFunctionType(ValueRange(values).getTypes(), {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func->setAttr("nvvm.cluster_dim",
                b.getDenseI32ArrayAttr({int32_t(plan.getCluster()), 1, 1}));
  func.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(plan.getWarps() * kRoundWarp), 1, 1}));
  return func;
}

/// Which warp of which block this one is, in all rounds.
void Persister::bindThread() {
  Location loc = loop.getLoc();
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  auto divide = [&](Value v, int64_t by) -> Value {
    return arith::DivUIOp::create(b, loc, v, constant(by));
  };
  auto rest = [&](Value v, int64_t by) -> Value {
    return arith::RemUIOp::create(b, loc, v, constant(by));
  };
  auto add = [&](Value v, int64_t by, Value w) -> Value {
    return arith::AddIOp::create(
        b, loc, arith::MulIOp::create(b, loc, v, constant(by)), w);
  };
  int64_t warps = threads / kRoundWarp, ofPart = warps / plan.getWarpParts();
  int64_t blocksOfPart = blocks / plan.getGridParts();
  int64_t work = blocksOfPart * ofPart;
  Value x = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  Value at = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  Value lane = rest(x, kRoundWarp), warp = divide(x, kRoundWarp);
  Value part = divide(at, plan.getCluster());
  Value number = add(rest(at, plan.getCluster()), plan.getWarps(), warp);
  isActive = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, number,
                                   constant(work));
  // What others without work load is read, too.
  number = arith::MinUIOp::create(b, loc, number, constant(work - 1));
  block = add(divide(part, plan.getWarpParts()), blocksOfPart,
              divide(number, ofPart));
  Value own =
      add(rest(part, plan.getWarpParts()), ofPart, rest(number, ofPart));
  thread = add(own, kRoundWarp, lane);
}

/// One round: what the host did, then the kernel's body.
void Persister::cloneRound(IRMapping &mapping, scf::ForOp rounds) {
  Location loc = loop.getLoc();
  mapping.map(loop.getInductionVar(), rounds.getInductionVar());
  for (auto [from, to] :
       llvm::zip(loop.getRegionIterArgs(), rounds.getRegionIterArgs()))
    mapping.map(from, to);
  auto own = scf::IfOp::create(b, loc, isActive, /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(own);
    for (Operation &op : loop.getBody()->without_terminator())
      if (&op != launch)
        b.clone(op, mapping);
    Block &body = kernel.getBody().front();
    for (auto [argument, operand] :
         llvm::zip(body.getArguments(), launch.getKernelOperands()))
      mapping.map(argument, mapping.lookupOrDefault(operand));
    b.setInsertionPointToStart(own.thenBlock());
    for (Operation &op : body.without_terminator()) {
      if (isa<gpu::ThreadIdOp>(op))
        mapping.map(op.getResult(0), thread);
      else if (isa<gpu::BlockIdOp>(op))
        mapping.map(op.getResult(0), block);
      else if (!isa<LLVM::InlineAsmOp>(op))
        b.clone(op, mapping);
    }
  }
  emitClusterBarrier(b, loc);
  SmallVector<Value> yielded;
  for (Value v : loop.getYieldedValues())
    yielded.push_back(mapping.lookupOrDefault(v));
  if (!yielded.empty())
    scf::YieldOp::create(b, loc, yielded);
  moveLoads(rounds, own);
}

/// Whether a memref of the new kernel may be one that a round writes.
bool Persister::isWritten(Value v) const {
  while (auto view = v.getDefiningOp<ViewLikeOpInterface>())
    v = view.getViewSource();
  return writtenInside.contains(v);
}

static int64_t countElements(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

/// What no round writes and none moves is loaded before the first one; what else is read comes
/// first in a round.
void Persister::moveLoads(scf::ForOp rounds, scf::IfOp own) {
  Block *block = own.thenBlock();
  llvm::SmallPtrSet<Operation *, 32> fixed, early;
  int64_t kept = 0;
  bool mayReorder = kernel->hasAttr(kReuseAttr);
  SmallVector<Operation *> ops;
  for (Operation &op : block->without_terminator())
    ops.push_back(&op);
  auto isFixed = [&](Value v) {
    Operation *def = v.getDefiningOp();
    return rounds.isDefinedOutsideOfLoop(v) || (def && fixed.contains(def));
  };
  for (Operation *op : ops) {
    Value loaded = getLoaded(op);
    bool isRead = loaded && !isWritten(loaded);
    if ((isRead || (op->getNumRegions() == 0 && isMemoryEffectFree(op))) &&
        llvm::all_of(op->getOperands(), isFixed)) {
      fixed.insert(op);
      if (loaded)
        kept += countElements(op->getResult(0).getType());
    }
  }
  int64_t free = kRegisters / (plan.getWarps() * kRoundWarp) - kComputing;
  if (kept > std::min(free, kMostKept))
    fixed.clear();
  auto isEarly = [&](Value v) {
    Operation *def = v.getDefiningOp();
    return !def || def->getBlock() != block || early.contains(def) ||
           fixed.contains(def);
  };
  for (Operation *op : ops) {
    if (fixed.contains(op)) {
      op->moveBefore(rounds);
      continue;
    }
    Value loaded = getLoaded(op);
    bool mayMove = loaded ? mayReorder || !isWritten(loaded)
                          : op->getNumRegions() == 0 && isMemoryEffectFree(op);
    if (mayMove && llvm::all_of(op->getOperands(), isEarly))
      early.insert(op);
  }
  // Those that loads need alone: numbers stay near what uses them.
  llvm::SmallPtrSet<Operation *, 32> needed;
  for (Operation *op : llvm::reverse(ops)) {
    if (!early.contains(op) || (!getLoaded(op) && !needed.contains(op)))
      continue;
    needed.insert(op);
    for (Value v : op->getOperands())
      if (Operation *def = v.getDefiningOp())
        needed.insert(def);
  }
  // In their order, in front of the first of the others.
  Operation *first = nullptr;
  for (Operation *op : ops) {
    if (op->getBlock() != block)
      continue;
    bool isMoved = early.contains(op) && needed.contains(op);
    if (!isMoved && !first)
      first = op;
    else if (isMoved && first)
      op->moveBefore(first);
  }
  // What is stored under conditions cuts what is computed into pieces, each of which would wait
  // for the one before.
  if (!mayReorder)
    return;
  for (Operation *op : ops)
    if (op->getBlock() == block && op->getNumResults() == 0)
      op->moveBefore(block->getTerminator());
}

/// One launch in the place of the loop, and of its results what the last round leaves.
void Persister::replaceLoop(gpu::GPUFuncOp func) {
  Location loc = loop.getLoc();
  b.setInsertionPoint(loop);
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  Value one = constant(1);
  int64_t parts = plan.getGridParts() * plan.getWarpParts();
  Value grid = constant(parts * plan.getCluster()),
        width = constant(plan.getWarps() * kRoundWarp);
  Value shared = arith::ConstantIntOp::create(b, loc, b.getI32Type(), 0);
  SmallVector<Value> values(captured.begin(), captured.end());
  gpu::LaunchFuncOp::create(b, loc, func, gpu::KernelDim3{grid, one, one},
                            gpu::KernelDim3{width, one, one}, shared, values);
  // What changes places does so in a circle.
  SmallVector<SmallVector<Value>> states{
      SmallVector<Value>(loop.getInitArgs())};
  int64_t rounds = loop.getStaticTripCount()->getSExtValue();
  while (int64_t(states.size()) <= rounds) {
    SmallVector<Value> next;
    for (Value v : loop.getYieldedValues()) {
      auto argument = dyn_cast<BlockArgument>(v);
      bool isCarried = argument && argument.getOwner() == loop.getBody();
      next.push_back(isCarried ? states.back()[argument.getArgNumber() - 1]
                               : v);
    }
    auto before = llvm::find(states, next);
    if (before != states.end()) {
      int64_t first = before - states.begin(),
              circle = int64_t(states.size()) - first;
      rounds = first + (rounds - first) % circle;
      break;
    }
    states.push_back(std::move(next));
  }
  SmallVector<Value> state = states[size_t(rounds)];
  loop.replaceAllUsesWith(state);
  loop.erase();
  if (SymbolTable::symbolKnownUseEmpty(kernel,
                                       kernel->getParentOfType<ModuleOp>()))
    kernel.erase();
}

LogicalResult Persister::run(llvm::StringMap<gpu::GPUFuncOp> &known) {
  if (!loop.getStaticTripCount())
    return refuse(loop, "their number is not known");
  if (failed(findKernel()) || failed(collectWritten()))
    return failure();
  // What is carried changes places, and is nothing that a round computes.
  for (auto [v, argument] :
       llvm::zip(loop.getYieldedValues(), loop.getRegionIterArgs()))
    if (!isa<MemRefType>(v.getType()) ||
        (v.getParentRegion() == &loop.getRegion() && !isa<BlockArgument>(v)) ||
        v == loop.getInductionVar())
      return refuse(loop, "what is carried is computed");
  gpu::GPUFuncOp func = makeFunction(known.size());
  for (auto [v, argument] : llvm::zip(captured, func.getArguments())) {
    auto memref = dyn_cast<MemRefType>(v.getType());
    llvm::SmallSetVector<Value, 4> buffers;
    // Where that is not known, it may be.
    if (memref && (failed(collectBuffers(v, buffers)) ||
                   llvm::any_of(buffers, [&](Value buffer) {
                     return written.contains(buffer);
                   })))
      writtenInside.insert(argument);
  }
  OpBuilder::InsertionGuard guard(b);
  Location loc = loop.getLoc();
  b.setInsertionPointToStart(&func.getBody().front());
  emitLaunchWait(b, loc);
  IRMapping mapping;
  for (auto [v, argument] : llvm::zip(captured, func.getArguments()))
    mapping.map(v, argument);
  llvm::SetVector<Value> used(loop->operand_begin(), loop->operand_end());
  getUsedValuesDefinedAbove(loop.getRegion(), used);
  for (Value v : used)
    if (!captured.contains(v))
      b.clone(*v.getDefiningOp(), mapping);
  bindThread();
  SmallVector<Value> inits;
  for (Value v : loop.getInitArgs())
    inits.push_back(mapping.lookup(v));
  auto rounds = scf::ForOp::create(b, loc, mapping.lookup(loop.getLowerBound()),
                                   mapping.lookup(loop.getUpperBound()),
                                   mapping.lookup(loop.getStep()), inits);
  for (auto [argument, init] : llvm::zip(rounds.getRegionIterArgs(), inits))
    if (writtenInside.contains(init))
      writtenInside.insert(argument);
  // What changes places is written, if one of it is.
  if (llvm::any_of(rounds.getRegionIterArgs(),
                   [&](Value v) { return writtenInside.contains(v); }))
    writtenInside.insert(rounds.getRegionIterArgs().begin(),
                         rounds.getRegionIterArgs().end());
  b.setInsertionPointToStart(rounds.getBody());
  cloneRound(mapping, rounds);
  b.setInsertionPointAfter(rounds);
  // Not before: blocks of the next kernel would be where clusters find no room.
  emitLaunchStart(b, loc);
  gpu::ReturnOp::create(b, loc);
  // Layers of one shape have one kernel.
  std::string text;
  llvm::raw_string_ostream os(text);
  os << func.getFunctionType() << plan;
  func.getBody().front().print(os);
  auto [it, isNew] = known.try_emplace(text, func);
  if (!isNew)
    func.erase();
  replaceLoop(it->second);
  return success();
}

namespace {
struct PersistRounds : public redfuse::impl::PersistRoundsBase<PersistRounds> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (loop->hasAttr(kPersistentAttr))
        loops.push_back(loop);
    });
    llvm::StringMap<gpu::GPUFuncOp> known;
    for (scf::ForOp loop : loops) {
      auto plan = loop->getAttrOfType<RoundsPlanAttr>(kPersistentAttr);
      loop->removeAttr(kPersistentAttr);
      (void)Persister(loop, plan).run(known);
    }
  }
};
} // namespace
