//===- MatrixGenerator.cpp - tiles of results on matrix units --------------===//
#include "redfuse/Codegen/GPU/MatrixUnits/MatrixGenerator.h"
#include "redfuse/Codegen/GPU/Registers/RegisterKernel.h"

using namespace mlir;
using namespace redfuse;

LogicalResult MatrixGenerator::prepare() {
  FailureOr<DimSets> dims = DimSets::compute(plan.step);
  if (failed(dims))
    return failure();
  stepSets = *dims;
  masks = findStreamMasks(plan, *stepSets);
  if (plan.finalize) {
    dims = DimSets::compute(
        cast<IndexProgramOpInterface>(plan.finalize.getOperation()));
    if (failed(dims))
      return failure();
    finalSets = *dims;
  }
  emitter = std::make_unique<FragmentEmitter>(b, loc, plan, space);
  emitter->layout.rows = plan.groupRows / 32;
  return success();
}

//===----------------------------------------------------------------------===//
// Multipliers
//===----------------------------------------------------------------------===//

Value MatrixGenerator::start(unsigned i, Value slot, ValueRange elements,
                             Value left) {
  const MatrixProduct &product = plan.products[i];
  const ProductTiles &load = layout.products[i];
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

/// The result of a product; one value for all rows that do not exist.
Fragment MatrixGenerator::asFragment(unsigned product, ValueRange elements) {
  Fragment fragment;
  fragment.kind = Fragment::Kind::Matrix;
  fragment.dim = plan.products[product].n;
  fragment.rows = emitter->layout.rows;
  fragment.values.assign(elements.begin(), elements.end());
  if (plan.hasLowerRowsOnly(space)) {
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
  const MatrixTile &left = *layout.products[i].left,
                   &right = layout.products[i].right;
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
Value MatrixGenerator::readKept(const MatrixTile &tile, Value slot,
                                int64_t columns) {
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
    if (layout.products[i].isResident)
      continue;
    if (layout.products[i].kept) {
      ptx.wait(fullBarrier(ring.slot), ring.phase);
      Value read = readKept(*layout.products[i].kept, ring.slot,
                            plan.widths.lookup(product.k));
      // Rule 6.
      leftOperands[i] = ptx.settle(read)[0];
      ptx.arrive(emptyBarrier(ring.slot), emitter->lane);
      ring = advance(ring);
    } else if (!product.tiledLeft) {
      leftOperands[i] = emitter->packLeft(product);
    }
  }
  if (layout.residentBytes && plan.target.hasWarpgroups)
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
  if (mirror && plan.consumers > 2 && !plan.hasTiledSums() &&
      plan.target.hasWarpgroups) {
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
  if (layout.residentBytes && plan.target.hasWarpgroups)
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
    if (layout.staged && i == layout.staged->number &&
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
  if (layout.staged)
    waitForCopies(ptx.readLane());
}
