//===- FoldMainloop.cpp - a fold along the streamed dim -------------------===//
#include "FoldMainloop.h"

using namespace mlir;
using namespace redfuse;

/// The values of the step that are not the same in every step.
llvm::DenseSet<Value> FoldMainloop::findChanges() {
  Block *body = plan.step.getProgramBody();
  llvm::DenseSet<Value> changes;
  if (plan.fold)
    for (BlockArgument arg :
         body->getArguments().drop_front(plan.fold.getInputs().size()))
      changes.insert(arg);
  auto isInvariant = [&](Value v) {
    return !changes.contains(v) && !(*of.stepSets)[v].test(*plan.stream);
  };
  for (Operation &inner : body->without_terminator()) {
    bool same = !isa<ReduceOp>(inner) &&
                llvm::all_of(inner.getOperands(), [&](Value v) {
                  return v.getParentBlock() != body || isInvariant(v);
                });
    for (Value v : inner.getResults())
      if (!same || !isInvariant(v))
        changes.insert(v);
  }
  return changes;
}

/// Left operands that are the same in every step.
PipelineState FoldMainloop::loadInvariants(PipelineState ring) {
  for (unsigned i : of.firstProducts) {
    const MatrixProduct &product = plan.products[i];
    if (layout.products[i].isResident)
      continue;
    if (layout.products[i].kept) {
      pipeline.consumerWait(ring);
      Value read = products.readKept(*layout.products[i].kept, ring.stage,
                                     plan.widths.lookup(product.k));
      // Before the stage is released.
      step.leftOperands[i] = ptx.settle(read)[0];
      pipeline.consumerRelease(ring.stage);
      ring = pipeline.advance(ring);
    } else if (!product.tiledLeft) {
      step.leftOperands[i] = emitter.packLeft(product);
    }
  }
  if (layout.residentBytes && plan.target.hasWgmma)
    ptx.wait(storage.residentBarrier(/*isFull=*/true),
             scheduler.getTilePhase());
  return ring;
}

/// Values that are the same in every step.
PipelineState FoldMainloop::emitInvariants(PipelineState ring) {
  Block *body = plan.step.getProgramBody();
  llvm::DenseSet<Value> changes = findChanges();
  ring = loadInvariants(ring);
  // Of the rest, what is cheap to keep: scalars and rows.
  for (Operation &inner : body->without_terminator())
    for (Value v : inner.getResults()) {
      Fragment shape = place.shapeOf((*of.stepSets)[v]);
      bool isSmall = shape.kind == Fragment::Kind::Uniform ||
                     shape.kind == Fragment::Kind::Row;
      if (!changes.contains(v) && isSmall)
        emitter.get(v);
    }
  emitter.emitAssertions();
  return ring;
}

/// Releases stages that the warpgroup has no use for.
PipelineState FoldMainloop::passStages(Value count, PipelineState ring) {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  SmallVector<Value> state =
      emitFor(b, loc, zero, count, one, {ring.stage, ring.phase},
              [&](Value, ValueRange carried) {
                PipelineState at{carried[0], carried[1]};
                pipeline.consumerWait(at);
                pipeline.consumerRelease(at.stage);
                PipelineState next = pipeline.advance(at);
                return SmallVector<Value>{next.stage, next.phase};
              });
  return {state[0], state[1]};
}

/// All that a step carries as a list of values, and back.
SmallVector<Value> FoldMainloop::flatten(const Carried &carried) {
  SmallVector<Value> list;
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s)
    llvm::append_range(list, carried.states.lookup(s).values);
  for (const ExponentialScale &scale : carried.scales) {
    llvm::append_range(list, scale.by.values);
    llvm::append_range(list, scale.from.values);
  }
  llvm::append_range(list, carried.packed);
  list.append({carried.ring.stage, carried.ring.phase});
  return list;
}

void FoldMainloop::unflatten(ValueRange list, Carried &carried) {
  auto take = [&](MutableArrayRef<Value> values) {
    for (Value &v : values) {
      v = list.front();
      list = list.drop_front();
    }
  };
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s)
    take(carried.states[s].values);
  for (ExponentialScale &scale : carried.scales) {
    take(scale.by.values);
    take(scale.from.values);
  }
  take(carried.packed);
  carried.ring = {list[0], list[1]};
}

/// All states at their identities.
Carried FoldMainloop::startStates(PipelineState ring) {
  auto arguments = plan.step.getProgramBody()->getArguments().drop_front(
      plan.fold.getInputs().size());
  Carried carried;
  carried.ring = ring;
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s)
    carried.states[s] = emitter.fill(
        arguments[s], cast<TypedAttr>(plan.fold.getIdentities()[s]));
  return carried;
}

/// Lets each of three warpgroups begin with the first step that its own rows need: gives
/// back the stages of those before. How many of these are used a step later, if any.
Value FoldMainloop::skipSteps(Carried &carried) {
  if (!stream.isMirrored() || plan.consumers <= 2 || plan.hasTiledSums() ||
      !plan.target.hasWgmma)
    return {};
  Value one = index(1);
  StreamSteps own =
      stream.stepsOfConsumer(position.steps, placement.getFirstRow());
  Value skipped =
      arith::SubIOp::create(b, loc, own.begin, position.steps.begin);
  // Of a step that is left out, what is added to the states comes a step later.
  Value some = b.createOrFold<arith::MinUIOp>(loc, skipped, one);
  auto times = [&](Value x, size_t n) -> Value {
    return b.createOrFold<arith::MulIOp>(loc, x, index(n));
  };
  Value late = times(some, of.secondProducts.size());
  carried.ring = passStages(
      arith::SubIOp::create(
          b, loc,
          times(skipped, of.firstProducts.size() + of.secondProducts.size()),
          late),
      carried.ring);
  position.steps = own;
  return late;
}

Carried FoldMainloop::emitStep(Carried before, bool isFirst, Value at) {
  stream.setStep(at);
  position.at = at;
  return step.emit(std::move(before), isFirst);
}

Carried FoldMainloop::emitLoop(Carried carried, Value from, Value to,
                               bool isWhole) {
  place.isWholeTile = isWhole;
  SmallVector<Value> list =
      emitFor(b, loc, from, to, index(1), flatten(carried),
              [&](Value at, ValueRange state) {
                Carried now = carried;
                unflatten(state, now);
                return flatten(emitStep(now, /*isFirst=*/false, at));
              });
  place.isWholeTile = false;
  unflatten(list, carried);
  return carried;
}

/// What the last step leaves: one operand for each product, if a step leaves any.
void FoldMainloop::addRest(Carried &carried) {
  PipelineState &ring = carried.ring;
  for (auto [at, i] : llvm::enumerate(
           ArrayRef(of.secondProducts).take_front(carried.packed.size()))) {
    unsigned s = plan.products[i].state;
    pipeline.consumerWait(ring);
    Value sum = products.start(i, ring.stage, carried.states[s].values,
                               carried.packed[at]);
    carried.states[s].values = ptx.waitProducts(0, sum, carried.packed[at]);
    pipeline.consumerRelease(ring.stage);
    ring = pipeline.advance(ring);
  }
}

StateFragments FoldMainloop::run(PipelineState &ring) {
  emitter.values.clear();
  emitter.select(plan.step, *of.stepSets);
  step.leftOperands.clear();
  Carried carried = startStates(emitInvariants(ring));
  position.steps =
      stream.stepsOfBlock(placement.getFirstRow(), placement.getLastRow());
  position.hasOneLoop = position.steps.noneBefore && position.steps.noneBehind;
  Value late = skipSteps(carried);
  const StreamSteps steps = position.steps;
  step.start();
  carried = emitStep(carried, /*isFirst=*/true, steps.begin);
  if (late)
    carried.ring = passStages(late, carried.ring);
  if (!steps.noneBefore)
    carried =
        emitLoop(carried, arith::AddIOp::create(b, loc, steps.begin, index(1)),
                 steps.wholeBegin,
                 /*isWhole=*/false);
  carried = emitLoop(carried, steps.wholeBegin, steps.wholeEnd,
                     /*isWhole=*/true);
  if (!steps.noneBehind)
    carried = emitLoop(carried, steps.wholeEnd, steps.end, /*isWhole=*/false);
  if (layout.residentBytes && plan.target.hasWgmma)
    ptx.arrive(storage.residentBarrier(/*isFull=*/false), place.lane);
  addRest(carried);
  rowSums.complete(carried.states);
  ring = carried.ring;
  return std::move(carried.states);
}
