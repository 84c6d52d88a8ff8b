//===- RegisterKernel.cpp - kernels whose tiles are registers -------------===//
//
// A block runs the programs of a kernel one after another, as for any target,
// but the tiles are registers (RegisterEmitter), so that a streamed dim is walked
// by a loop that carries the states of a fold as values. Steps that are whole
// have no masks; what is left at the end is one step with masks.
//
//===----------------------------------------------------------------------===//
#include "RegisterGenerator.h"
#include "Tuning.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/GPU/Common/BlockCounters.h"
#include "redfuse/Codegen/GPU/Common/Cluster.h"

using namespace mlir;
using namespace redfuse;

static bool reduces(const LoopNest &nest) {
  return llvm::any_of(nest.roots, [](const Root *root) {
    return root->kind == Root::Kind::Reduce;
  });
}

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

SmallVector<const LoopNest *>
RegisterKernelGenerator::nestsOf(IndexProgramOpInterface op, bool isInvariant) {
  SmallVector<const LoopNest *> result;
  for (const LoopNest &nest : programs[op]->getNests())
    if (nest.isInvariant == isInvariant)
      result.push_back(&nest);
  return result;
}

/// Of a loop without steps one after another: ptxas moves loads behind the step
/// before theirs where that frees registers.
static Attribute keepsLoop(OpBuilder &b) {
  MLIRContext *context = b.getContext();
  auto unroll = LLVM::LoopUnrollAttr::get(context, b.getBoolAttr(true), {}, {},
                                          {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {},
                                       {}, {}, {}, {}, {}, {}, {}, {});
}

LogicalResult RegisterKernelGenerator::carry(
    IndexProgramOpInterface op, Value from, Value to, Value step,
    function_ref<LogicalResult(Value)> body, function_ref<void(Value)> ahead) {
  auto fold = dyn_cast<FoldOp>(op.getOperation());
  if (isFetching)
    fold = FoldOp();
  SmallVector<Value> states;
  if (fold)
    states = own->states.take(fold);
  own->exchange.awaitCluster();
  size_t numStates = states.size();
  if (ahead) {
    own->loaded.pushScope();
    ahead(from);
    loadStep(op);
    llvm::append_range(states, own->loaded.take());
    own->loaded.popScope();
  }
  auto loop = scf::ForOp::create(b, loc, from, to, step, states);
  if (ahead)
    loop->setAttr("llvm.loop_annotation", keepsLoop(b));
  {
    OpBuilder::InsertionGuard guard(b);
    if (states.empty())
      b.setInsertionPoint(loop.getBody()->getTerminator());
    else
      b.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> carried(loop.getRegionIterArgs()), following;
    if (fold)
      own->states.set(fold, ArrayRef(carried).take_front(numStates));
    own->loaded.pushScope();
    if (ahead) {
      Value next = arith::AddIOp::create(b, loc, loop.getInductionVar(), step);
      Value last = arith::SubIOp::create(b, loc, to, step);
      ahead(arith::MinUIOp::create(b, loc, next, last));
      loadStep(op);
      following = own->loaded.take();
      own->loaded.set(ArrayRef(carried).drop_front(numStates));
    }
    LogicalResult result = body(loop.getInductionVar());
    own->loaded.popScope();
    if (failed(result))
      return failure();
    // The next step writes where this one reads.
    if (own->exchange.takeExchanged())
      own->exchange.barrier();
    if (!states.empty()) {
      SmallVector<Value> yielded;
      if (fold)
        yielded = own->states.take(fold);
      llvm::append_range(yielded, following);
      scf::YieldOp::create(b, loc, yielded);
    }
  }
  if (fold)
    own->states.set(
        fold, SmallVector<Value>(loop.getResults().take_front(numStates)));
  return success();
}

/// What the nests read in the current step.
void RegisterKernelGenerator::loadStep(IndexProgramOpInterface op) {
  emitter->setProgram(op, *programs[op], buffers[op]);
  own->prefetch(nestsOf(op, /*isInvariant=*/false), streamed,
                /*streams=*/true);
}

void RegisterKernelGenerator::startNext() {
  if (startsNext)
    emitLaunchStart(b, loc);
  startsNext = false;
}

LogicalResult RegisterKernelGenerator::emitStep(IndexProgramOpInterface op,
                                                unsigned i) {
  if (i + 1 < streamDims.size())
    return walkStream(op, i + 1);
  if (isFetching) {
    own->copies.fetchKept();
    return success();
  }
  if (!layout.readsAgain || isFirst(op))
    own->prefetch(nestsOf(op, /*isInvariant=*/false), streamed,
                  /*streams=*/true);
  if (layout.awaitsLoads)
    own->awaitLoaded();
  startNext();
  for (const LoopNest *nest : nestsOf(op, /*isInvariant=*/false)) {
    if (failed(emitNest(op, *nest)))
      return failure();
    if (layout.readsAgain)
      own->loaded.forgetVectors();
  }
  return success();
}

/// Splits of a split dim hold a multiple of this.
int64_t RegisterKernelGenerator::unitOf(unsigned d) const {
  const DimShare &share = layout.dims[d];
  int64_t length = space.staticExtents[d], span = share.getSpan();
  bool isLong = ShapedType::isDynamic(length) ||
                length >= space.schedule.getSplits() * span;
  return isLong ? span : share.lanes;
}

/// What a block walks along the i-th streamed dim, if that is known.
int64_t RegisterKernelGenerator::lengthOf(unsigned i) const {
  unsigned d = streamDims[i];
  int64_t length = space.staticExtents[d];
  if (i != 0 || space.schedule.getKind() != ScheduleKind::Split ||
      ShapedType::isDynamic(length))
    return length;
  int64_t splits = space.schedule.getSplits();
  return length % (splits * unitOf(d)) == 0 ? length / splits
                                            : ShapedType::kDynamic;
}

/// Whether all programs walk the grid's tiles in one step.
bool RegisterKernelGenerator::isHeld() {
  streamDims.clear();
  if (space.schedule)
    llvm::append_range(streamDims, space.schedule.getStream());
  return isOneStep();
}

/// Whether every streamed dim is walked in one step.
bool RegisterKernelGenerator::isOneStep() const {
  for (unsigned i = 0; i < streamDims.size(); ++i)
    if (int64_t length = lengthOf(i);
        ShapedType::isDynamic(length) ||
        length > layout.dims[streamDims[i]].getSpan())
      return false;
  return true;
}

/// Walks the i-th streamed dim: whole steps, then what is left.
LogicalResult RegisterKernelGenerator::walkStream(IndexProgramOpInterface op,
                                                  unsigned i) {
  unsigned d = streamDims[i];
  SpaceDim whole = dims[d];
  const DimShare &share = layout.dims[d];
  int64_t span = share.getSpan();
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  Value begin = constant(0), end = whole.extent;
  int64_t length = lengthOf(i);
  if (i == 0 && space.schedule.getKind() == ScheduleKind::Split) {
    // The block's own split, of whole vectors; the last ones may be short, or
    // empty.
    int64_t splits = space.schedule.getSplits(), unit = unitOf(d);
    Value size =
        arith::CeilDivUIOp::create(b, loc, whole.extent, constant(splits));
    size = arith::CeilDivUIOp::create(b, loc, size, constant(unit));
    size = arith::MulIOp::create(b, loc, size, constant(unit));
    Value number = split ? split : dims[space.schedule.getGrid().back()].offset;
    begin = arith::MulIOp::create(b, loc, number, size);
    begin = arith::MinSIOp::create(b, loc, begin, whole.extent);
    end = arith::AddIOp::create(b, loc, begin, size);
    end = arith::MinSIOp::create(b, loc, end, whole.extent);
  }
  if (!ShapedType::isDynamic(length) && length <= span) {
    // One step: what it loads is there for whoever walks the dim again.
    dims[d].offset = begin;
    dims[d].size = constant(length);
    dims[d].staticSize = length;
    LogicalResult result = emitStep(op, i);
    dims[d] = whole;
    return result;
  }
  Value middle;
  bool hasRest = true;
  if (!ShapedType::isDynamic(length)) {
    hasRest = length % span != 0;
    middle = b.createOrFold<arith::AddIOp>(loc, begin,
                                           constant(length / span * span));
  } else {
    Value all = arith::SubIOp::create(b, loc, end, begin);
    Value steps = arith::DivUIOp::create(b, loc, all, constant(span));
    Value walked = arith::MulIOp::create(b, loc, steps, constant(span));
    middle = arith::AddIOp::create(b, loc, begin, walked);
  }
  LogicalResult result = success();
  auto place = [&](Value at) {
    dims[d].offset = at;
    dims[d].size = constant(span);
    dims[d].staticSize = span;
  };
  bool loadsAhead = layout.loadsStepsAhead && !isFetching &&
                    i + 1 == streamDims.size() &&
                    !ShapedType::isDynamic(length);
  if (ShapedType::isDynamic(length) || length >= span)
    result = carry(
        op, begin, middle, constant(span),
        [&](Value at) {
          place(at);
          return emitStep(op, i);
        },
        loadsAhead ? function_ref<void(Value)>(place)
                   : function_ref<void(Value)>());
  if (hasRest && succeeded(result))
    result = carry(op, middle, end, constant(span), [&](Value at) {
      dims[d].offset = at;
      dims[d].size = arith::SubIOp::create(b, loc, end, at);
      dims[d].staticSize = std::nullopt;
      if (!ShapedType::isDynamic(length)) {
        dims[d].staticSize = length % span;
        dims[d].size = constant(length % span);
      }
      return emitStep(op, i);
    });
  dims[d] = whole;
  return result;
}

/// The kernel before may still write to it: what the cache has by then follows.
void RegisterKernelGenerator::fetchAhead() {
  if (layout.ahead.empty())
    return;
  OpBuilder::InsertionGuard guard(b);
  if (layout.aheadTiles != 0) {
    Value isFirst =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult,
                              gpu::BlockIdOp::create(b, loc, gpu::Dimension::x),
                              arith::ConstantIndexOp::create(
                                  b, loc, layout.aheadTiles * layout.cluster));
    b.setInsertionPoint(
        scf::IfOp::create(b, loc, isFirst, /*withElse=*/false).thenYield());
  }
  askFor(layout.ahead);
}

void RegisterKernelGenerator::askFor(ArrayRef<KeptInput> inputs) {
  for (const KeptInput &input : inputs)
    own->copies.fetchAhead(
        own->memrefs.lookup(
            kernel.getBody().front().getArgument(input.argument)),
        input.map, input.bytes);
}

LogicalResult RegisterKernelGenerator::fetchKept(IndexProgramOpInterface op) {
  isFetching = true;
  LogicalResult result = walkStream(op, 0);
  isFetching = false;
  own->copies.commit();
  own->copies.await();
  return result;
}

/// Tiles of shared memory, one after another, from its start on.
void RegisterKernelGenerator::placeKept(Value sharedMemory) {
  for (const KeptInput &kept : layout.kept) {
    Value memref = own->memrefs.lookup(
        kernel.getBody().front().getArgument(kept.argument));
    auto type = cast<MemRefType>(memref.getType());
    SmallVector<int64_t> shape;
    for (AffineExpr e : kept.map.getResults()) {
      const SpaceDim &dim = dims[cast<AffineDimExpr>(e).getPosition()];
      shape.push_back(dim.isGrid ? dim.tile : dim.staticExtent);
    }
    Value tile = memref::ViewOp::create(
        b, loc,
        MemRefType::get(
            shape, type.getElementType(), MemRefLayoutAttrInterface(),
            cast<MemRefType>(sharedMemory.getType()).getMemorySpace()),
        sharedMemory, arith::ConstantIndexOp::create(b, loc, keptBytes),
        ValueRange());
    own->copies.keep(memref, kept.map, tile);
    keptBytes += kept.bytes;
  }
}

/// What all programs need of up to so many elements beside what is walked.
void RegisterKernelGenerator::prefetch(const SmallBitVector &walked,
                                       int64_t most) {
  for (auto op : kernel.getBody().front().getOps<IndexProgramOpInterface>()) {
    emitter->setProgram(op, *programs[op], buffers[op]);
    for (bool isInvariant : {true, false})
      own->prefetch(nestsOf(op, isInvariant), walked, /*streams=*/false, most);
  }
}

void RegisterKernelGenerator::loadAhead(Whose whose) {
  Whose before = own->whose;
  own->whose = whose;
  // Registers hold all that is walked.
  prefetch(SmallBitVector(space.numDims), /*most=*/INT64_MAX);
  own->whose = before;
}

LogicalResult RegisterKernelGenerator::emitNest(IndexProgramOpInterface op,
                                                const LoopNest &nest) {
  own->isReadingLast =
      op.getOperation()->getNextNode()->hasTrait<OpTrait::IsTerminator>() &&
      &nest == &programs[op]->getNests().back();
  if (layout.loadsSharedBeforeExchange && reduces(nest) &&
      --reductionsLeft == 0)
    own->beforeExchange = [this, op] {
      loadAhead(Whose::Shared);
      emitter->setProgram(op, *programs[op], buffers[op]);
    };
  return own->emitNest(nest);
}

IndexProgramOpInterface RegisterKernelGenerator::getLastFold() {
  IndexProgramOpInterface last;
  for (auto fold : kernel.getBody().front().getOps<FoldOp>())
    last = cast<IndexProgramOpInterface>(*fold);
  return last;
}

/// Whether all that follows a fold is done by threads that are the first of those
/// that share what it has walked: what others compute, nobody stores. They compute
/// it of states that are not merged, so it is arithmetic, which no value harms.
bool RegisterKernelGenerator::isForFirst(IndexProgramOpInterface op) {
  bool isBehind = false;
  for (auto other :
       kernel.getBody().front().getOps<IndexProgramOpInterface>()) {
    if (isBehind) {
      for (Operation &inner : *other.getProgramBody())
        if (!isa<arith::ArithDialect, math::MathDialect>(inner.getDialect()) &&
            !isa<YieldOp, ReduceOp>(inner))
          return false;
      for (const LoopNest &nest : programs[other]->getNests())
        for (unsigned d : nest.dims.set_bits())
          if (layout.dims[d].getBits() & own->positions.getPrivateBits())
            return false;
    }
    isBehind |= other == op;
  }
  return true;
}

LogicalResult RegisterKernelGenerator::emitProgram(IndexProgramOpInterface op) {
  if (isFirst(op) && layout.loopingBlocks == 0) {
    fetchAhead();
    if (limits.overlapsLaunches)
      emitLaunchWait(b, loc);
    own->exchange.startCluster();
    // What little all programs need, but beside a long walk.
    own->pinsLoads = streamDims.empty();
    prefetch(streamed, /*most=*/2);
    own->pinsLoads = false;
    for (auto each : kernel.getBody().front().getOps<IndexProgramOpInterface>())
      reductionsLeft += llvm::count_if(programs[each]->getNests(), reduces);
    if (!layout.kept.empty() && failed(fetchKept(op)))
      return failure();
  }
  auto fold = dyn_cast<FoldOp>(op.getOperation());
  if (fold) {
    own->states.fill(fold);
    // What one step folds whole needs no merge: its reductions combine all
    // threads. So do those of a fold that writes in order, for the next step.
    own->positions.setPrivate(isOneStep() || fold.hasOutputs()
                                  ? ArrayRef<int64_t>()
                                  : fold.getOver());
  }
  emitter->setProgram(op, *programs[op], buffers[op]);
  SmallVector<const LoopNest *> varying = nestsOf(op, /*isInvariant=*/false);
  SmallVector<const LoopNest *> fixed = nestsOf(op, /*isInvariant=*/true);
  // What is read again is near after the first time.
  bool prefetches = !layout.readsAgain || isFirst(op);
  if (prefetches)
    own->prefetch(varying.empty() ? ArrayRef(fixed).take_front(1) : fixed,
                  streamed, /*streams=*/false);
  if (varying.empty())
    startNext();
  for (const LoopNest *nest : fixed) {
    if (failed(emitNest(op, *nest)))
      return failure();
    if (layout.readsAgain)
      own->loaded.forgetVectors();
  }
  if (!varying.empty()) {
    if (prefetches)
      own->prefetch(varying, streamed, /*streams=*/false);
    if (failed(streamDims.empty() ? emitStep(op, 0) : walkStream(op, 0)))
      return failure();
  }
  if (fold) {
    if (layout.startsNextLate && op == getLastFold()) {
      startsNext = true;
      startNext();
    }
    own->states.merge(fold, isForFirst(op));
    own->positions.setPrivate(fold.getOver());
    if (split)
      mergeBlocks(fold);
    own->positions.setPrivate({});
  }
  return success();
}

/// The dims whose threads can share the merging of other blocks' states: they have no
/// elements of these of their own, but all have the same.
SmallVector<int64_t>
RegisterKernelGenerator::findSharingDims(FoldOp fold) const {
  unsigned bits = 0;
  SmallVector<AffineMap> maps = fold.getIndexingMapsArray();
  for (AffineMap map : ArrayRef(maps).drop_front(fold.getInputs().size()))
    for (unsigned d : getDimsOf(map).set_bits())
      bits |= layout.dims[d].getBits();
  SmallVector<int64_t> sharing;
  for (unsigned d = 0; d < space.numDims; ++d)
    if (!(layout.dims[d].getBits() & bits))
      sharing.push_back(d);
  return sharing;
}

void RegisterKernelGenerator::mergeBlocks(FoldOp fold) {
  int64_t splits = space.schedule.getSplits();
  int64_t words = own->states.countWords(fold);
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  Value first = arith::MulIOp::create(b, loc, tile, constant(splits));
  auto placeOf = [&](Value number) -> Value {
    Value at = arith::AddIOp::create(b, loc, first, number);
    return arith::MulIOp::create(b, loc, at, constant(words));
  };
  own->states.store(fold, workspace, placeOf(split));
  // What every thread has stored is there before the block counts as done.
  auto fence = [&] {
    LLVM::FenceOp::create(b, loc, LLVM::AtomicOrdering::acq_rel, "device");
  };
  fence();
  own->exchange.barrier();
  auto ask =
      scf::IfOp::create(b, loc, TypeRange{b.getI32Type()},
                        own->positions.isFirstThread(), /*withElse=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ask.thenBlock());
    Value before = countBlock(b, loc, counters, tile, splits);
    scf::YieldOp::create(b, loc, before);
    b.setInsertionPointToStart(ask.elseBlock());
    scf::YieldOp::create(
        b, loc,
        arith::ConstantIntOp::create(b, loc, b.getI32Type(), 0).getResult());
  }
  Value before = own->exchange.shareWord(ask.getResult(0));
  Value isLast = arith::CmpIOp::create(
      b, loc, arith::CmpIPredicate::eq, before,
      arith::ConstantIntOp::create(b, loc, b.getI32Type(), splits - 1)
          .getResult());
  auto last = scf::IfOp::create(b, loc, isLast, /*withElse=*/false);
  // All that follows is the last block's.
  b.setInsertionPoint(last.thenYield());
  fence();
  own->states.fill(fold);
  own->positions.setPrivate(findSharingDims(fold));
  int64_t strangers = int64_t(1)
                      << llvm::popcount(own->positions.getPrivateBits());
  auto loop = scf::ForOp::create(b, loc, own->positions.getPrivateNumber(),
                                 constant(splits), constant(strangers),
                                 own->states.take(fold));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    own->states.set(fold, SmallVector<Value>(loop.getRegionIterArgs()));
    own->states.mergeWith(
        fold,
        own->states.load(fold, workspace, placeOf(loop.getInductionVar())));
    scf::YieldOp::create(b, loc, own->states.take(fold));
  }
  own->states.set(fold, SmallVector<Value>(loop.getResults()));
  own->states.merge(fold, isForFirst(fold));
}

/// Before the launch: how many blocks there are, and what they are given beside its
/// operands.
RegisterKernelGenerator::Started RegisterKernelGenerator::prepare() {
  Started started;
  started.arguments.assign(launch->operand_begin(), launch->operand_end());
  b.setInsertionPoint(launch);
  auto constant = [&](int64_t v) -> Value {
    return arith::ConstantIndexOp::create(b, loc, v);
  };
  auto allocate = [&](Value size) {
    auto type = MemRefType::get({ShapedType::kDynamic}, b.getI32Type());
    auto made =
        memref::AllocOp::create(b, loc, type, size, b.getI64IntegerAttr(64));
    started.arguments.push_back(made);
    return made;
  };
  Value tiles = countBlocks(b, launch, space);
  started.blocks = tiles;
  if (mergesInLaunch(kernel, space)) {
    started.blocks = arith::MulIOp::create(
        b, loc, tiles, constant(space.schedule.getSplits()));
    // As many words as it turns out to take.
    started.words = constant(0);
    started.states =
        allocate(arith::MulIOp::create(b, loc, started.blocks, started.words));
    allocate(tiles)->setAttr(kCountersAttr, b.getUnitAttr());
  }
  if (layout.loopingBlocks != 0) {
    // No more than run at a time; with a static scheduler all with as many tiles, or one
    // less.
    int64_t units = getTargetOf(kernel).getUnits();
    Value most = constant(
        std::max<int64_t>(1, units * layout.loopingBlocks / layout.cluster));
    if (hasDynamicScheduler()) {
      allocate(constant(1))->setAttr(kCountersAttr, b.getUnitAttr());
      started.blocks = arith::MinUIOp::create(b, loc, tiles, most);
    } else {
      Value rounds = arith::CeilDivUIOp::create(b, loc, tiles, most);
      started.blocks = arith::CeilDivUIOp::create(b, loc, tiles, rounds);
    }
    started.arguments.push_back(tiles);
  }
  return started;
}

gpu::GPUFuncOp RegisterKernelGenerator::makeFunction(gpu::GPUModuleOp module,
                                                     StringRef name,
                                                     TypeRange types) {
  b.setInsertionPointToEnd(module.getBody());
  auto func =
      gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  if (!sharesMemory(launch) && !layout.readsAgain)
    func->setAttr(kReuseAttr, b.getUnitAttr());
  if (limits.overlapsLaunches) {
    func->setAttr(kWaits, b.getUnitAttr());
    startsNext = layout.loopingBlocks == 0 && layout.cluster == 1 &&
                 layout.kept.empty() && isHeld();
    if (startsNext || layout.startsNextLate)
      func->setAttr(kStartsNext, b.getUnitAttr());
  }
  func.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({int32_t(layout.getThreadsOfBlock()), 1, 1}));
  if (layout.cluster > 1)
    func->setAttr("nvvm.cluster_dim",
                  b.getDenseI32ArrayAttr({int32_t(layout.cluster), 1, 1}));
  if (layout.leastBlocksPerUnit != 0)
    func->setAttr("nvvm.minctasm",
                  b.getI32IntegerAttr(layout.leastBlocksPerUnit));
  return func;
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

/// Shared memory has what is kept, the answer of a dynamic scheduler, and what threads exchange.
void RegisterKernelGenerator::layOutShared() {
  auto space3 = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  auto typeOf = [&](int64_t size, Type element) {
    return MemRefType::get({size}, element, MemRefLayoutAttrInterface(),
                           space3);
  };
  Value memory = gpu::DynamicSharedMemoryOp::create(
      b, loc, typeOf(ShapedType::kDynamic, b.getI8Type()));
  placeKept(memory);
  if (hasDynamicScheduler()) {
    mailbox = memref::ViewOp::create(
        b, loc, typeOf(1, b.getI32Type()), memory,
        arith::ConstantIndexOp::create(b, loc, keptBytes), ValueRange());
    keptBytes += 16;
  }
  Value exchanged = arith::ConstantIndexOp::create(b, loc, kExchangeWords);
  own->words.memory = memref::ViewOp::create(
      b, loc, typeOf(ShapedType::kDynamic, b.getI32Type()), memory,
      arith::ConstantIndexOp::create(b, loc, keptBytes), exchanged);
}

LogicalResult RegisterKernelGenerator::emitBody(gpu::GPUFuncOp func,
                                                bool merges) {
  Block *entry = &func.getBody().front();
  b.setInsertionPointToStart(entry);
  ValueRange operands =
      entry->getArguments().take_front(launch->getNumOperands());
  makeSpace(operands);
  auto emitting = std::make_unique<RegisterEmitter>(b, loc, layout, dims);
  own = emitting.get();
  emitter = std::move(emitting);
  emitter->entry = entry;
  Value block = placeThread();
  bindOperands(operands);
  for (unsigned i : layout.movedOnce)
    own->movedOnce.insert(operands[i]);
  giveTiles();
  layOutShared();
  if (hasDynamicScheduler())
    counters = entry->getArgument(operands.size());
  b.setInsertionPoint(gpu::ReturnOp::create(b, loc));
  if (merges) {
    Value number =
        arith::ConstantIndexOp::create(b, loc, space.schedule.getSplits());
    split = arith::RemUIOp::create(b, loc, block, number);
    block = tile = arith::DivUIOp::create(b, loc, block, number);
    workspace = entry->getArgument(operands.size());
    counters = entry->getArgument(operands.size() + 1);
  }
  if (failed(layout.loopingBlocks == 0
                 ? emitBlock(block)
                 : emitRounds(block, entry->getArguments().back())))
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
  streamed.resize(space.numDims);
  if (space.schedule)
    for (int64_t d : space.schedule.getStream())
      streamed.set(d);

  Started started = prepare();
  gpu::GPUFuncOp func =
      makeFunction(module, name, ValueRange(started.arguments).getTypes());
  if (failed(emitBody(func, /*merges=*/bool(started.states))))
    return failure();
  if (started.states)
    for (auto fold : kernel.getBody().front().getOps<FoldOp>())
      cast<arith::ConstantIndexOp>(started.words.getDefiningOp())
          ->setAttr("value", b.getIndexAttr(own->states.countWords(fold)));

  b.setInsertionPoint(launch);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value width =
      arith::ConstantIndexOp::create(b, loc, layout.getThreadsOfBlock());
  Value blocks = started.blocks;
  if (layout.cluster > 1)
    blocks = arith::MulIOp::create(
        b, loc, blocks, arith::ConstantIndexOp::create(b, loc, layout.cluster));
  int64_t shared =
      std::max(keptBytes + own->exchange.getBytes(), layout.leastSharedBytes);
  Value bytes = arith::ConstantIntOp::create(b, loc, b.getI32Type(), shared);
  gpu::LaunchFuncOp::create(b, loc, func, gpu::KernelDim3{blocks, one, one},
                            gpu::KernelDim3{width, one, one}, bytes,
                            started.arguments);
  if (started.states)
    memref::DeallocOp::create(b, loc, started.states);
  launch.erase();
  return success();
}

LogicalResult redfuse::generateInRegisters(
    KernelOp kernel, LaunchOp launch, const KernelSpace &space, unsigned lanes,
    const DeviceLimits &limits, RegisterLayoutAttr record,
    gpu::GPUModuleOp module, StringRef name) {
  return RegisterKernelGenerator(kernel, launch, space, lanes, limits)
      .run(record, module, name);
}
