//===- RegisterKernel.cpp - kernels whose tiles are registers -------------===//
//
//
// A block runs the programs of a kernel one after another, as for any target,
// but the tiles are registers (RegisterEmitter), so that a streamed dim is walked
// by a loop that carries the states of a fold as values. Steps that are whole
// have no masks; what is left at the end is one step with masks.
//
//===----------------------------------------------------------------------===//
#include "LastBlockMerge.h"
#include "PersistentTiles.h"
#include "RegisterLaunch.h"
#include "RegisterMainloop.h"
#include "Tuning.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "redfuse/Codegen/GPU/Common/Cluster.h"

using namespace mlir;
using namespace redfuse;

namespace {
class RegisterKernelGenerator : public KernelGenerator {
public:
  RegisterKernelGenerator(KernelOp kernel, LaunchOp launch,
                          const KernelSpace &space, unsigned lanes,
                          const DeviceLimits &limits)
      : KernelGenerator(kernel, launch, space, lanes), limits(limits) {}

  LogicalResult run(RegisterLayoutAttr record, gpu::GPUModuleOp module,
                    StringRef name);

private:
  LogicalResult emitProgram(IndexProgramOpInterface op) override;
  LogicalResult emitBody(gpu::GPUFuncOp func,
                         const RegisterLaunch::Given &given);
  LogicalResult emitTiles(Value block, const RegisterLaunch::Given &given);
  Value placeThread();
  void placeTile(Value block);
  void giveTiles();
  void layOutShared(Value counter);
  void beginKernel();
  LogicalResult copyKept();
  LogicalResult emitNest(IndexProgramOpInterface op, const LoopNest &nest);
  LogicalResult emitStep(IndexProgramOpInterface op);
  bool isForFirst(IndexProgramOpInterface op);
  void startNext();

  DeviceLimits limits;
  RegisterLayout layout;
  SmallBitVector streamed;
  /// The emitter as what it is, and what else emits parts of the kernel.
  RegisterEmitter *own = nullptr;
  std::optional<KernelNests> nests;
  std::optional<InputLoads> loads;
  std::optional<RegisterMainloop> mainloop;
  std::optional<LastBlockMerge> lastBlock;
  std::optional<DynamicScheduler> scheduler;
  /// Bytes of shared memory beside what threads exchange.
  int64_t keptBytes = 0;
  bool startsNext = false;
  /// Nests that reduce, not yet emitted.
  unsigned reductionsLeft = 0;
};
} // namespace

/// Every tile is a number.
void RegisterKernelGenerator::giveTiles() {
  unsigned next = 0;
  for (TileRequest &request : requestTiles()) {
    TileBuffer buffer;
    buffer.dims = request.of;
    buffer.id = next++;
    request.give(buffer);
  }
}

/// Lets the next kernel of the stream start: once, behind the first loads where they
/// stand in no loop.
void RegisterKernelGenerator::startNext() {
  if (startsNext)
    emitLaunchStart(b, loc);
  startsNext = false;
}

/// Emits a nest; the last one that reduces has what all blocks read loaded.
LogicalResult RegisterKernelGenerator::emitNest(IndexProgramOpInterface op,
                                                const LoopNest &nest) {
  std::function<void()> beforeExchange;
  if (layout.loadsSharedBeforeExchange && reduces(nest) &&
      --reductionsLeft == 0)
    beforeExchange = [this, op] {
      loads->loadTile(Whose::Shared, /*isPinned=*/false);
      nests->select(op);
    };
  if (failed(own->emitNest(nest, nests->isLast(op, nest), beforeExchange)))
    return failure();
  if (layout.readsAgain)
    own->loaded.forgetVectors();
  return success();
}

LogicalResult RegisterKernelGenerator::emitStep(IndexProgramOpInterface op) {
  SmallVector<const LoopNest *> varying = nests->of(op, /*isInvariant=*/false);
  if (!layout.readsAgain || nests->isFirst(op))
    loads->loadStep(varying, streamed);
  if (layout.awaitsLoads)
    own->awaitLoaded();
  startNext();
  for (const LoopNest *nest : varying)
    if (failed(emitNest(op, *nest)))
      return failure();
  return success();
}

/// Copies what is kept into shared memory.
LogicalResult RegisterKernelGenerator::copyKept() {
  LogicalResult result = mainloop->run({[&] {
    own->copies.fetchKept();
    return success();
  }});
  own->copies.commit();
  own->copies.await();
  return result;
}

/// Whether all that follows a fold is done by threads that are the first of those
/// that share what it has walked: what others compute, nobody stores. They compute
/// it of states that are not merged, so it is arithmetic, which no value harms.
bool RegisterKernelGenerator::isForFirst(IndexProgramOpInterface op) {
  bool isBehind = false;
  for (IndexProgramOpInterface other : nests->getPrograms()) {
    if (isBehind) {
      for (Operation &inner : *other.getProgramBody())
        if (!isa<arith::ArithDialect, math::MathDialect>(inner.getDialect()) &&
            !isa<YieldOp, ReduceOp>(inner))
          return false;
      for (const LoopNest &nest : nests->all(other))
        for (unsigned d : nest.dims.set_bits())
          if (layout.dims[d].getBits() & own->positions.getPrivateBits())
            return false;
    }
    isBehind |= other == op;
  }
  return true;
}

/// Before the first program of a block that has one tile.
void RegisterKernelGenerator::beginKernel() {
  loads->askAhead();
  if (limits.overlapsLaunches)
    emitLaunchWait(b, loc);
  own->exchange.startCluster();
  // What little all programs need, but beside a long walk.
  loads->loadInvariant(streamed, /*most=*/2, /*isPinned=*/streamDims.empty());
  reductionsLeft += nests->countReductions();
}

LogicalResult RegisterKernelGenerator::emitProgram(IndexProgramOpInterface op) {
  if (nests->isFirst(op) && layout.loopingBlocks == 0) {
    beginKernel();
    if (!layout.kept.empty() && failed(copyKept()))
      return failure();
  }
  auto fold = dyn_cast<FoldOp>(op.getOperation());
  if (fold) {
    own->states.fill(fold);
    // What one step folds whole needs no merge: its reductions combine all
    // threads. So do those of a fold that writes in order, for the next step.
    own->positions.setPrivate(StreamWalk(space, layout).isOneStep() ||
                                      fold.hasOutputs()
                                  ? ArrayRef<int64_t>()
                                  : fold.getOver());
  }
  nests->select(op);
  SmallVector<const LoopNest *> varying = nests->of(op, /*isInvariant=*/false);
  SmallVector<const LoopNest *> fixed = nests->of(op, /*isInvariant=*/true);
  // What is read again is near after the first time.
  bool prefetches = !layout.readsAgain || nests->isFirst(op);
  if (prefetches)
    loads->loadBeside(varying.empty() ? ArrayRef(fixed).take_front(1) : fixed,
                      streamed);
  if (varying.empty())
    startNext();
  for (const LoopNest *nest : fixed)
    if (failed(emitNest(op, *nest)))
      return failure();
  if (!varying.empty()) {
    if (prefetches)
      loads->loadBeside(varying, streamed);
    auto emit = [&] { return emitStep(op); };
    auto load = [&] {
      nests->select(op);
      loads->loadStep(varying, streamed);
    };
    if (failed(mainloop->run({emit, load, fold})))
      return failure();
  }
  if (fold) {
    if (layout.startsNextLate && op == nests->getLastFold()) {
      startsNext = true;
      startNext();
    }
    own->states.merge(fold, isForFirst(op));
    own->positions.setPrivate(fold.getOver());
    if (lastBlock)
      lastBlock->merge(fold, isForFirst(op));
    own->positions.setPrivate({});
  }
  return success();
}

/// The thread's number in its cluster; the number of that is the result.
Value RegisterKernelGenerator::placeThread() {
  Value thread = gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x);
  Value block = gpu::BlockIdOp::create(b, loc, gpu::Dimension::x);
  if (layout.cluster > 1) {
    Value share = arith::ConstantIndexOp::create(b, loc, layout.cluster);
    Value rank = arith::RemUIOp::create(b, loc, block, share);
    block = arith::DivUIOp::create(b, loc, block, share);
    Value threads =
        arith::ConstantIndexOp::create(b, loc, layout.getThreadsOfBlock());
    rank = arith::MulIOp::create(b, loc, rank, threads);
    thread = arith::AddIOp::create(b, loc, thread, rank);
  }
  own->positions.setThread(thread);
  return block;
}

/// A tile of the grid, and all that is walked in it.
void RegisterKernelGenerator::placeTile(Value block) {
  placeBlock(block);
  for (unsigned d :
       space.schedule ? space.schedule.getStream() : ArrayRef<int64_t>()) {
    dims[d].offset = arith::ConstantIndexOp::create(b, loc, 0);
    dims[d].size =
        arith::ConstantIndexOp::create(b, loc, space.staticExtents[d]);
    dims[d].staticSize = space.staticExtents[d];
  }
}

/// Shared memory has what is kept, the answer of a dynamic scheduler, and what threads
/// exchange.
void RegisterKernelGenerator::layOutShared(Value counter) {
  auto space3 = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto typeOf = [&](int64_t size, Type element) {
    return MemRefType::get({size}, element, MemRefLayoutAttrInterface(),
                           space3);
  };
  Value memory = gpu::DynamicSharedMemoryOp::create(
      b, loc, typeOf(ShapedType::kDynamic, b.getI8Type()));
  keptBytes = loads->placeKept(memory);
  if (hasDynamicScheduler(layout)) {
    Value mailbox = memref::ViewOp::create(
        b, loc, typeOf(1, b.getI32Type()), memory,
        arith::ConstantIndexOp::create(b, loc, keptBytes), ValueRange());
    scheduler.emplace(b, loc, own->positions, counter, mailbox);
    keptBytes += 16;
  }
  Value exchanged = arith::ConstantIndexOp::create(b, loc, kExchangeWords);
  own->words.memory = memref::ViewOp::create(
      b, loc, typeOf(ShapedType::kDynamic, b.getI32Type()), memory,
      arith::ConstantIndexOp::create(b, loc, keptBytes), exchanged);
}

/// The block's tile, or one after another.
LogicalResult
RegisterKernelGenerator::emitTiles(Value block,
                                   const RegisterLaunch::Given &given) {
  if (layout.loopingBlocks == 0)
    return emitBlock(block);
  placeTile(block);
  loads->askAhead();
  if (limits.overlapsLaunches)
    emitLaunchWait(b, loc);
  own->exchange.startCluster();
  auto place = [&](Value number) { placeTile(number); };
  auto emit = [&](Value number) { return emitBlock(number); };
  PersistentTiles loop(b, loc, layout, *own, *loads, {place, emit});
  return scheduler ? loop.emitStaged(block, given.tiles, *scheduler)
                   : loop.emitHeld(block, given.tiles);
}

LogicalResult
RegisterKernelGenerator::emitBody(gpu::GPUFuncOp func,
                                  const RegisterLaunch::Given &given) {
  Block *entry = &func.getBody().front();
  b.setInsertionPointToStart(entry);
  ValueRange operands =
      entry->getArguments().take_front(launch->getNumOperands());
  makeSpace(operands);
  auto emitting = std::make_unique<RegisterEmitter>(b, loc, layout, dims);
  own = emitting.get();
  emitter = std::move(emitting);
  emitter->entry = entry;
  nests.emplace(kernel, programs, buffers, *own);
  loads.emplace(b, loc, kernel, layout, dims, *nests, *own);
  mainloop.emplace(b, loc, space, layout, dims, own->states, own->loaded,
                   own->exchange);
  Value block = placeThread();
  bindOperands(operands);
  for (unsigned i : layout.movedOnce)
    own->moveOnce(operands[i]);
  giveTiles();
  layOutShared(given.counters);
  b.setInsertionPoint(gpu::ReturnOp::create(b, loc));
  if (given.workspace) {
    Value number =
        arith::ConstantIndexOp::create(b, loc, space.schedule.getSplits());
    Value split = arith::RemUIOp::create(b, loc, block, number);
    block = arith::DivUIOp::create(b, loc, block, number);
    mainloop->setSplit(split);
    lastBlock.emplace(
        b, loc, space, layout, own->positions, own->exchange, own->states,
        LastBlockMerge::Place{split, block, given.workspace, given.counters});
  }
  if (failed(emitTiles(block, given)))
    return failure();
  own->exchange.awaitCluster();
  return success();
}

LogicalResult RegisterKernelGenerator::run(RegisterLayoutAttr record,
                                           gpu::GPUModuleOp module,
                                           StringRef name) {
  TileProgram::Options options;
  options.hasContractions = false;
  if (failed(makePrograms(options)))
    return failure();
  std::string why;
  std::optional<RegisterLayout> found =
      readLayout(kernel, launch, space, programs, limits, record, why);
  if (!found)
    return launch.emitOpError("cannot run in registers as planned: ") << why;
  layout = std::move(*found);
  StreamWalk steps(space, layout);
  streamed.resize(space.numDims);
  for (int64_t d : steps.getDims())
    streamed.set(d);

  RegisterLaunch host(b, kernel, launch, space, layout);
  host.prepare();
  startsNext = limits.overlapsLaunches && layout.loopingBlocks == 0 &&
               layout.cluster == 1 && layout.kept.empty() &&
               steps.isOneStep() && !layout.startsNextLate;
  gpu::GPUFuncOp func = host.makeFunction(module, name, limits,
                                          startsNext || layout.startsNextLate);
  if (failed(emitBody(func, host.getGiven(func))))
    return failure();
  int64_t stateWords = 0;
  for (auto fold : kernel.getBody().front().getOps<FoldOp>())
    if (lastBlock)
      stateWords = own->states.countWords(fold);
  host.finish(func, keptBytes + own->exchange.getBytes(), stateWords);
  return success();
}

LogicalResult redfuse::generateInRegisters(
    KernelOp kernel, LaunchOp launch, const KernelSpace &space, unsigned lanes,
    const DeviceLimits &limits, RegisterLayoutAttr record,
    gpu::GPUModuleOp module, StringRef name) {
  return RegisterKernelGenerator(kernel, launch, space, lanes, limits)
      .run(record, module, name);
}
