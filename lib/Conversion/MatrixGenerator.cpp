//===- MatrixGenerator.cpp - kernels on matrix units -----------------------===//
#include "MatrixGenerator.h"
#include "Cluster.h"
#include "InlinePtx.h"
#include "RegisterKernel.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace redfuse;

/// Registers of a thread by the number of multiplying warpgroups: as compiled, and
/// of who loads and who multiplies. One warpgroup has enough as it is.
struct RegisterBudget {
  int64_t whole, loader, multiplier;
};
static constexpr RegisterBudget kBudgets[] = {
    {0, 0, 0}, {168, 40, 232}, {128, 32, 160}};
/// Of one multiplying warpgroup, where two blocks are on a multiprocessor.
static constexpr RegisterBudget kHalfBudget = {128, 40, 216};

//===----------------------------------------------------------------------===//
// Multipliers
//===----------------------------------------------------------------------===//

Value MatrixGenerator::start(unsigned i, Value slot, ValueRange elements,
                             Value left) {
  const MatrixProduct &product = plan.products[i];
  const Load &load = loads[i];
  Value accumulators =
      elements.empty() ? Value() : ptx.accumulate(elements, plan.groupRows);
  Ptx::Factor factor{left};
  if (load.isResident)
    factor = {residentTile(load), load.kept->isByRows, group};
  return ptx.multiply(plan.widths.lookup(product.n),
                      plan.widths.lookup(product.k), accumulators, factor,
                      {tileIn(slot, load.right), load.right.isByRows},
                      plan.groupRows);
}

Value MatrixGenerator::rowOfWarp() {
  Value inGroup = arith::AndIOp::create(b, loc, warp, ptx.i32(3));
  return ptx.add(ptx.mul(group, plan.groupRows),
                 ptx.mul(inGroup, plan.groupRows / 4));
}

/// Of every sixteen rows the upper eight do not exist.
bool MatrixGenerator::hasLowerRowsOnly() const {
  int64_t rows = space.staticExtents[plan.m];
  return plan.target.hasWarpgroups && !ShapedType::isDynamic(rows) && rows <= 8;
}

/// The result of a product; one value for all rows that do not exist.
Fragment MatrixGenerator::asFragment(unsigned product, ValueRange elements) {
  Fragment fragment;
  fragment.kind = Fragment::Kind::Matrix;
  fragment.dim = plan.products[product].n;
  fragment.rows = emitter->layout.rows;
  fragment.values.assign(elements.begin(), elements.end());
  if (hasLowerRowsOnly()) {
    Value none = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
    for (auto [i, v] : llvm::enumerate(fragment.values))
      if (fragment.rowOf(i) == 1)
        v = none;
  }
  return fragment;
}

SmallVector<Value>
MatrixGenerator::multiplyTiled(unsigned i, Ring &ring,
                               SmallVectorImpl<Value> &running) {
  const MatrixProduct &product = plan.products[i];
  const Tile &left = *loads[i].left, &right = loads[i].right;
  auto step = [&](Ring at, Value accumulators) {
    ptx.wait(fullBarrier(at.slot), at.phase);
    Value rows = tileIn(at.slot, left, right.bytes());
    return ptx.multiply(plan.widths.lookup(product.n), kSumTile, accumulators,
                        {rows, left.isByRows, group},
                        {tileIn(at.slot, right), right.isByRows});
  };
  Value sum = step(ring, {});
  // What ran before is over before the loader comes to its slot again.
  if (!running.empty())
    ptx.waitProducts(1, {});
  for (Value slot : running)
    ptx.arrive(emptyBarrier(slot), emitter->lane);
  running.clear();
  SmallVector<Value> state{sum, ring.slot};
  ring = advance(ring);
  state.append({ring.slot, ring.phase});
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  state =
      emitFor(b, loc, one, tilesOfSum(product.k), one, state,
              [&](Value, ValueRange carried) {
                Ring at{carried[2], carried[3]};
                Value next = step(at, carried[0]);
                ptx.waitProducts(1, {});
                ptx.arrive(emptyBarrier(carried[1]), emitter->lane);
                Ring then = advance(at);
                return SmallVector<Value>{next, at.slot, then.slot, then.phase};
              });
  ring = {state[2], state[3]};
  SmallVector<Value> result = ptx.waitProducts(0, state[0]);
  ptx.arrive(emptyBarrier(state[1]), emitter->lane);
  return result;
}

/// The rows of a warp as a left operand.
Value MatrixGenerator::readKept(const Tile &tile, Value slot, int64_t columns) {
  auto type = tile::OperandType::get(b.getContext(), 64, columns,
                                     tile.type.getElement());
  return tile::ReadOperandOp::create(b, loc, type, tileIn(slot, tile),
                                     rowOfWarp());
}

/// Values that are the same in every step.
MatrixGenerator::Ring MatrixGenerator::emitInvariants(Ring ring) {
  Block *body = plan.step.getProgramBody();
  llvm::DenseSet<Value> changes;
  if (plan.fold)
    for (BlockArgument arg :
         body->getArguments().drop_front(plan.fold.getInputs().size()))
      changes.insert(arg);
  auto isInvariant = [&](Value v) {
    return !changes.contains(v) && !(*stepSets)[v].test(*plan.stream);
  };
  llvm::DenseSet<Value> inShared;
  for (MatrixProduct &product : plan.products)
    inShared.insert(product.right.argument);
  for (Operation &inner : body->without_terminator()) {
    bool same = !isa<ReduceOp>(inner) &&
                llvm::all_of(inner.getOperands(), [&](Value v) {
                  return v.getParentBlock() != body || isInvariant(v);
                });
    for (Value v : inner.getResults())
      if (!same || !isInvariant(v))
        changes.insert(v);
  }
  for (unsigned i : fronts) {
    const MatrixProduct &product = plan.products[i];
    if (loads[i].isResident)
      continue;
    if (loads[i].kept) {
      ptx.wait(fullBarrier(ring.slot), ring.phase);
      Value read =
          readKept(*loads[i].kept, ring.slot, plan.widths.lookup(product.k));
      // Rule 6.
      leftOperands[i] = ptx.settle(read)[0];
      ptx.arrive(emptyBarrier(ring.slot), emitter->lane);
      ring = advance(ring);
    } else if (!product.tiledLeft) {
      leftOperands[i] = emitter->packLeft(product);
    }
  }
  if (residentBytes && plan.target.hasWarpgroups)
    ptx.wait(residentBarrier(/*isFull=*/true), turn);
  // Of the rest, what is cheap to keep: scalars and rows.
  for (Operation &inner : body->without_terminator())
    for (Value v : inner.getResults()) {
      Fragment shape = emitter->shapeOf((*stepSets)[v]);
      bool isSmall = shape.kind == Fragment::Kind::Uniform ||
                     shape.kind == Fragment::Kind::Row;
      if (!changes.contains(v) && isSmall)
        emitter->get(v);
    }
  return ring;
}

/// All that a step carries as a list of values, and back.
SmallVector<Value> MatrixGenerator::flatten(const Carried &carried) {
  SmallVector<Value> list;
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s)
    llvm::append_range(list, carried.states.lookup(s).values);
  for (const PowerScale &scale : carried.scales) {
    llvm::append_range(list, scale.by.values);
    llvm::append_range(list, scale.from.values);
  }
  llvm::append_range(list, carried.packed);
  list.append({carried.ring.slot, carried.ring.phase});
  return list;
}

void MatrixGenerator::unflatten(ValueRange list, Carried &carried) {
  auto take = [&](MutableArrayRef<Value> values) {
    for (Value &v : values) {
      v = list.front();
      list = list.drop_front();
    }
  };
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s)
    take(carried.states[s].values);
  for (PowerScale &scale : carried.scales) {
    take(scale.by.values);
    take(scale.from.values);
  }
  take(carried.packed);
  carried.ring = {list[0], list[1]};
}

/// Gives slots back that the warpgroup has no use for.
MatrixGenerator::Ring MatrixGenerator::passSlots(Value count, Ring ring) {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  SmallVector<Value> state =
      emitFor(b, loc, zero, count, one, {ring.slot, ring.phase},
              [&](Value, ValueRange carried) {
                Ring at{carried[0], carried[1]};
                ptx.wait(fullBarrier(at.slot), at.phase);
                ptx.arrive(emptyBarrier(at.slot), emitter->lane);
                Ring next = advance(at);
                return SmallVector<Value>{next.slot, next.phase};
              });
  return {state[0], state[1]};
}

MatrixGenerator::Ring MatrixGenerator::multiplyBlock(Ring ring) {
  Block *body = plan.step.getProgramBody();
  emitter->values.clear();
  emitter->select(plan.step, *stepSets);
  leftOperands.clear();
  ring = emitInvariants(ring);
  unsigned count = plan.fold.getNumStates();
  auto arguments =
      body->getArguments().drop_front(plan.fold.getInputs().size());
  Carried carried;
  carried.ring = ring;
  for (unsigned s = 0; s < count; ++s)
    carried.states[s] = emitter->fill(
        arguments[s], cast<TypedAttr>(plan.fold.getIdentities()[s]));
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Steps steps = stepsOf();
  Value late;
  if (mirror && plan.consumers > 2 && !isTiled() && plan.target.hasWarpgroups) {
    Steps own = ownSteps(steps);
    Value skipped = arith::SubIOp::create(b, loc, own.begin, steps.begin);
    // Of a step that is left out, what is added to the states comes a step later.
    Value some = b.createOrFold<arith::MinUIOp>(loc, skipped, one);
    auto times = [&](Value x, size_t n) -> Value {
      return b.createOrFold<arith::MulIOp>(
          loc, x, arith::ConstantIndexOp::create(b, loc, n));
    };
    late = times(some, backs.size());
    carried.ring = passSlots(
        arith::SubIOp::create(
            b, loc, times(skipped, fronts.size() + backs.size()), late),
        carried.ring);
    steps = own;
  }
  walked = steps;
  auto emit = [&](Carried before, bool isFirst, Value step) {
    setStep(step);
    atStep = step;
    return plan.target.hasWarpgroups
               ? emitStep(before, isFirst)
               : emitStepInOrder(before, isFirst, step, steps.end);
  };
  if (!plan.target.hasWarpgroups)
    startStream(steps);
  hasOneWalk = steps.noneBefore && steps.noneBehind;
  carried = emit(carried, /*isFirst=*/true, steps.begin);
  if (late)
    carried.ring = passSlots(late, carried.ring);
  SmallVector<Value> list = flatten(carried);
  auto walk = [&](Value from, Value to, bool isWhole) {
    emitter->isWholeTile = isWhole;
    list =
        emitFor(b, loc, from, to, one, list, [&](Value step, ValueRange state) {
          Carried now = carried;
          unflatten(state, now);
          return flatten(emit(now, /*isFirst=*/false, step));
        });
    emitter->isWholeTile = false;
  };
  if (!steps.noneBefore)
    walk(arith::AddIOp::create(b, loc, steps.begin, one), steps.wholeBegin,
         false);
  walk(steps.wholeBegin, steps.wholeEnd, true);
  if (!steps.noneBehind)
    walk(steps.wholeEnd, steps.end, false);
  unflatten(list, carried);
  ring = carried.ring;
  if (residentBytes && plan.target.hasWarpgroups)
    ptx.arrive(residentBarrier(/*isFull=*/false), emitter->lane);
  // What is left to add: one operand for each product, if a step leaves any.
  for (auto [at, i] :
       llvm::enumerate(ArrayRef(backs).take_front(carried.packed.size()))) {
    unsigned s = plan.products[i].state;
    ptx.wait(fullBarrier(ring.slot), ring.phase);
    Value sum =
        start(i, ring.slot, carried.states[s].values, carried.packed[at]);
    carried.states[s].values = ptx.waitProducts(0, sum, carried.packed[at]);
    ptx.arrive(emptyBarrier(ring.slot), emitter->lane);
    ring = advance(ring);
  }
  completeSums(carried.states);
  if (plan.segments > 1) {
    mergeSegments(carried.states);
    return ring;
  }
  placeThread();
  finalizeStates(carried.states);
  return ring;
}

void MatrixGenerator::finalizeStates(
    const DenseMap<unsigned, Fragment> &states) {
  // The finalisation sees states, and tensors of its own.
  emitter->values.clear();
  auto finalize = cast<IndexProgramOpInterface>(plan.finalize.getOperation());
  emitter->select(finalize, *finalSets);
  for (auto [i, input] : llvm::enumerate(plan.finalize.getInputs()))
    if (input.getDefiningOp() == plan.fold)
      emitter->values[finalize.getProgramBody()->getArgument(i)] =
          states.lookup(cast<OpResult>(input).getResultNumber());
  storeResults();
}

MatrixGenerator::Ring MatrixGenerator::multiplyCascade(Ring ring) {
  emitter->values.clear();
  emitter->select(plan.step, *stepSets);
  for (auto [i, product] : llvm::enumerate(plan.products)) {
    SmallVector<Value> elements;
    if (product.tiledLeft) {
      SmallVector<Value> none;
      elements = multiplyTiled(i, ring, none);
    } else {
      Value left = emitter->packLeft(product);
      ptx.wait(fullBarrier(ring.slot), ring.phase);
      elements = ptx.waitProducts(0, start(i, ring.slot, {}, left), left);
      ptx.arrive(emptyBarrier(ring.slot), emitter->lane);
      ring = advance(ring);
    }
    emitter->values[product.reduce.getResult(0)] = asFragment(i, elements);
  }
  if (plan.split > 1)
    storePartials();
  else
    storeResults();
  return ring;
}

void MatrixGenerator::storeResults() {
  IndexProgramOpInterface last =
      plan.finalize
          ? cast<IndexProgramOpInterface>(plan.finalize.getOperation())
          : plan.step;
  SmallVector<AffineMap> all = last.getIndexingMapsArray();
  unsigned first = all.size() - last.getProgramInits().size();
  auto yield = cast<YieldOp>(last.getProgramBody()->getTerminator());
  for (auto [i, v] : llvm::enumerate(yield.getValues())) {
    if (staged && i == stagedResult &&
        emitter->get(v).kind == Fragment::Kind::Matrix)
      storeStaged(emitter->get(v));
    else
      storeValue(emitter->memrefs.lookup(last->getResult(i)), all[first + i],
                 emitter->get(v));
  }
}

/// Whole, if it depends on fewer dims than the tensor has.
void MatrixGenerator::storeValue(Value memref, AffineMap map,
                                 const Fragment &value) {
  map = simplifyForExtents(map, space.staticExtents);
  Fragment shape = emitter->shapeOf(getDimsOf(map));
  Fragment whole = shape;
  for (size_t e = 0, n = emitter->sizeOf(shape); e < n; ++e)
    whole.values.push_back(shape.kind == Fragment::Kind::Matrix ? value.at(e)
                           : value.values.size() == 1 ? value.values[0]
                                                      : value.values[e]);
  emitter->store(memref, map, whole);
}

void MatrixGenerator::emitMultipliers() {
  inTurns([&] {
    overTiles(/*isMultiplier=*/true, [&](Value block, Ring ring) {
      placeBlock(block, /*isMultiplier=*/true);
      return plan.stream ? multiplyBlock(ring) : multiplyCascade(ring);
    });
  });
  if (staged)
    waitForCopies(ptx.readLane());
}

//===----------------------------------------------------------------------===//
// The function and its launch
//===----------------------------------------------------------------------===//

LogicalResult MatrixGenerator::run(gpu::GPUModuleOp module, StringRef name) {
  if (failed(prepare()))
    return failure();
  bool hasWarpgroups = plan.target.hasWarpgroups;
  if (plan.fold) {
    findPartialSums();
    findPivotMoves();
  }
  b.setInsertionPoint(launch);
  Value all =
      countBlocks(b, launch, space, [&](unsigned d) { return tileOf(d); });
  Value grid = all;
  if (hasWarpgroups)
    grid = arith::MinUIOp::create(
        b, loc, all, arith::ConstantIndexOp::create(b, loc, units));
  if (plan.shares() > 1)
    grid = arith::MulIOp::create(
        b, loc, all, arith::ConstantIndexOp::create(b, loc, plan.shares()));
  Value atLeastOne = arith::MaxUIOp::create(
      b, loc, grid, arith::ConstantIndexOp::create(b, loc, 1));
  SmallVector<Value> arguments{all,
                               arith::DivUIOp::create(b, loc, all, atLeastOne)};
  for (Load &load : hasWarpgroups ? loads : SmallVector<Load>()) {
    arguments.push_back(makeTensorMap(load.right));
    if (load.left)
      arguments.push_back(makeTensorMap(*load.left));
    if (load.kept)
      arguments.push_back(makeTensorMap(*load.kept));
  }
  if (staged)
    arguments.push_back(makeTensorMap(*staged));
  unsigned firstOperand = arguments.size();
  llvm::append_range(arguments, launch->getOperands());
  SmallVector<Value> memory;
  if (plan.groups() > 1 || plan.hasQueue)
    allocateStates(all, arguments, memory);

  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types = llvm::to_vector(ValueRange(arguments).getTypes());
  auto func =
      gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  int64_t threads = plan.threads();
  func.setKnownBlockSizeAttr(b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  // Registers: a thread of the loader gives some to those that multiply.
  if (int64_t cluster = std::max(plan.split, plan.cluster); cluster > 1)
    func->setAttr("nvvm.cluster_dim",
                  b.getDenseI32ArrayAttr({int32_t(cluster), 1, 1}));
  RegisterBudget budget =
      plan.isHalf ? kHalfBudget : kBudgets[plan.consumers - 1];
  if (!hasWarpgroups)
    budget = {};
  if (budget.whole)
    func->setAttr("nvvm.maxnreg", b.getI32IntegerAttr(budget.whole));
  func->setAttr("nvvm.minctasm",
                b.getI32IntegerAttr(!hasWarpgroups && threads == 128 ? 2 : 1));
  // LLVM looks for vectors for as long as all of the rest takes, and finds none: what
  // is packed is packed already. This attribute tells it not to.
  func->setAttr("passthrough", b.getStrArrayAttr({"noimplicitfloat"}));
  entry = &func.getBody().front();
  b.setInsertionPointToStart(entry);
  auto end = gpu::ReturnOp::create(b, loc);
  b.setInsertionPoint(end);

  // Operands of the launch.
  emitter->entry = entry;
  ValueRange operands =
      entry->getArguments().slice(firstOperand, launch->getNumOperands());
  if (plan.groups() > 1)
    workspace = entry->getArguments().drop_back().back();
  if (plan.groups() > 1 || plan.hasQueue)
    counters = entry->getArguments().back();
  blocks = entry->getArgument(0);
  rounds = entry->getArgument(1);
  maps = llvm::to_vector_of<Value>(
      entry->getArguments().slice(2, firstOperand - 2));
  bindKernel(b, kernel, operands, emitter->memrefs, emitter->captured);
  for (unsigned d = 0; d < space.numDims; ++d) {
    if (ShapedType::isDynamic(space.staticExtents[d])) {
      ExtentSource source = *space.sources[d];
      emitter->extents[d] = memref::DimOp::create(
          b, loc, operands[source.first.getArgNumber()], source.second);
    } else {
      emitter->extents[d] =
          arith::ConstantIndexOp::create(b, loc, space.staticExtents[d]);
    }
  }

  // Shared memory, barriers, roles.
  auto space3 = gpu::AddressSpaceAttr::get(
      b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
  Value shared = gpu::DynamicSharedMemoryOp::create(
      b, loc,
      MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                      MemRefLayoutAttrInterface(), space3));
  Value raw = arith::IndexCastUIOp::create(
      b, loc, b.getI32Type(),
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, shared));
  // Where tensor maps and descriptors swizzle, they do so by the address.
  base = raw;
  if (hasWarpgroups)
    base = arith::AndIOp::create(b, loc, ptx.add(raw, 1023), ptx.i32(-1024));
  received =
      receivesInRing() ? base : ptx.add(base, ringBytes() + residentBytes);
  barriers = ptx.add(base, ringBytes() + residentBytes + stagedBytes);
  receivedCount = ptx.add(barriers, slots * 16 + 48);
  slotRing = tile::RingOp::create(
      b, loc, tile::RingType::get(b.getContext(), slots, slotBytes), base,
      barriers);
  thread = arith::IndexCastUIOp::create(
      b, loc, b.getI32Type(),
      gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x));
  emitter->lane = arith::AndIOp::create(b, loc, thread, ptx.i32(31));
  warp = NVVM::ShflOp::create(
      b, loc, b.getI32Type(), ptx.i32(-1),
      arith::ShRUIOp::create(b, loc, thread, ptx.i32(5)), ptx.i32(0),
      ptx.i32(31), NVVM::ShflKind::idx, UnitAttr());
  group = ptx.add(arith::ShRUIOp::create(b, loc, warp, ptx.i32(2)),
                  -plan.target.loaderWarps() / 4);
  if (plan.shares() > 1) {
    Value own = arith::IndexCastUIOp::create(
        b, loc, b.getI32Type(),
        gpu::BlockIdOp::create(b, loc, gpu::Dimension::x));
    Value shares = ptx.i32(plan.shares());
    rank = arith::IndexCastUIOp::create(
        b, loc, b.getIndexType(), arith::RemUIOp::create(b, loc, own, shares));
    tile = arith::IndexCastUIOp::create(
        b, loc, b.getIndexType(), arith::DivUIOp::create(b, loc, own, shares));
    Value cluster = arith::ConstantIndexOp::create(b, loc, plan.cluster);
    inCluster = b.createOrFold<arith::RemUIOp>(loc, rank, cluster);
    inGroups = b.createOrFold<arith::DivUIOp>(loc, rank, cluster);
  }
  auto isEqual = [&](Value v, int64_t to) -> Value {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, v,
                                 ptx.i32(to));
  };
  auto branchOn = [&](Value condition, function_ref<void()> then) {
    auto branch = scf::IfOp::create(b, loc, condition, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    then();
  };
  auto prepareBarriers = [&] {
    for (int64_t s = 0; s < slots; ++s) {
      ptx.initBarrier(fullBarrier(ptx.i32(s)), 1);
      ptx.initBarrier(emptyBarrier(ptx.i32(s)), 4 * plan.consumers);
    }
    if (residentBytes) {
      ptx.initBarrier(residentBarrier(/*isFull=*/true), 1);
      ptx.initBarrier(residentBarrier(/*isFull=*/false), 4 * plan.consumers);
    }
    if (plan.hasQueue) {
      // Who reads an answer: the loader, and every multiplying warp.
      ptx.initBarrier(queueBarrier(/*isFull=*/true), 1);
      ptx.initBarrier(queueBarrier(/*isFull=*/false), 1 + 4 * plan.consumers);
    }
    if (plan.cluster > 1)
      ptx.initBarrier(receivedBarrier(), 1);
    ptx.fenceBarriers();
    // Of every row of a state what is not padding.
    if (plan.cluster > 1)
      ptx.expect(receivedBarrier(), receivedOffset(-1));
  };
  if (hasWarpgroups) {
    branchOn(isEqual(thread, 0), prepareBarriers);
    branchOn(isEqual(thread, 32), [&] { fetchAhead(); });
    if (plan.cluster > 1 && !receivesInRing())
      emitClusterArrive(b, loc);
  }
  // From here on memory is read that the launch before may have written.
  if (plan.target.overlapsLaunches) {
    func->setAttr(kWaits, b.getUnitAttr());
    if (hasWarpgroups && plan.startsNextLate)
      func->setAttr(kStartsNext, b.getUnitAttr());
    emitPtx(b, loc, "griddepcontrol.wait;", "", {});
  }
  if (hasWarpgroups)
    gpu::BarrierOp::create(b, loc);
  auto takeRoles = [&](bool movesRegisters, function_ref<void()> loader,
                       function_ref<void()> multipliers) {
    SmallVector<int64_t> budgets;
    if (movesRegisters)
      budgets = {budget.loader, budget.multiplier};
    auto roles = tile::RolesOp::create(
        b, loc, warp, {plan.target.loaderWarps(), 4 * plan.consumers},
        movesRegisters ? budget.whole : 0, budgets);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(&roles.getBodies()[0].front());
    loader();
    b.setInsertionPointToEnd(&roles.getBodies()[1].front());
    multipliers();
  };
  if (hasWarpgroups)
    takeRoles(
        budget.whole && plan.split == 1,
        [&] {
          branchOn(isEqual(thread, 0), [&] { emitLoader(); });
          if (plan.hasQueue)
            branchOn(isEqual(thread, 32), [&] { emitQueue(); });
        },
        [&] { emitMultipliers(); });
  else
    emitWarps();
  if (plan.split > 1) {
    ptx.synchronizeCluster();
    takeRoles(
        false, [&] { ptx.startLeaving(); },
        [&] {
          overTiles(/*isMultiplier=*/true, [&](Value block, Ring ring) {
            placeBlock(block, /*isMultiplier=*/false);
            mergePartials();
            return ring;
          });
        });
    ptx.leaveCluster();
  }

  b.setInsertionPoint(launch);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value width = arith::ConstantIndexOp::create(b, loc, threads);
  int64_t control = (hasWarpgroups ? 1024 : 0) + slots * 16 + kControlBytes;
  Value bytes = arith::ConstantIntOp::create(b, loc, b.getI32Type(),
                                             ringBytes() + residentBytes +
                                                 stagedBytes + control);
  gpu::LaunchFuncOp::create(b, loc, func, gpu::KernelDim3{grid, one, one},
                            gpu::KernelDim3{width, one, one}, bytes, arguments);
  for (Value v : memory)
    memref::DeallocOp::create(b, loc, v);
  launch.erase();
  return success();
}
