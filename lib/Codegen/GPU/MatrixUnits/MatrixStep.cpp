//===- MatrixStep.cpp - a step of a fold on matrix units -------------------===//
//
// What a step does besides its products should be little: while a warpgroup is
// at it, its products wait. So a sum of rows stays what each thread has summed
// until the fold is over, and where pivots are lazy, all that their moves take
// (the maxima of rows, which are exchanged between threads, powers of distances,
// the transport of states) is in one branch that few steps enter.
//
//===----------------------------------------------------------------------===//
#include "redfuse/Codegen/GPU/Common/InlinePtx.h"
#include "redfuse/Codegen/GPU/MatrixUnits/MatrixGenerator.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// What is known of the body
//===----------------------------------------------------------------------===//

/// The reduction to rows that `v` is, if nothing else uses it.
static ReduceOp getOwnReduction(Value v, Reducer reducer) {
  auto reduce = v.getDefiningOp<ReduceOp>();
  if (!reduce || reduce.getReducer() != reducer ||
      reduce.getNumOperands() != 1 || !v.hasOneUse())
    return {};
  return reduce;
}

/// Whether `v` is the state times a power of a lazy pivot's move: the state itself
/// where the pivot stays.
static bool isPureTransport(Value v, Value state, ValueRange states) {
  auto mul = v.getDefiningOp<arith::MulFOp>();
  if (!mul || (mul.getLhs() != state && mul.getRhs() != state))
    return false;
  Value factor = mul.getLhs() == state ? mul.getRhs() : mul.getLhs();
  Operation *power = factor.getDefiningOp();
  if (!power || !power->hasAttr(kPivotAttr))
    return false;
  Value exponent = power->getOperand(0);
  if (auto scaled = matchScaled(exponent))
    exponent = scaled->value;
  auto sub = exponent.getDefiningOp<arith::SubFOp>();
  if (!sub || !llvm::is_contained(states, sub.getLhs()))
    return false;
  Value pivot = sub.getRhs();
  if (auto select = pivot.getDefiningOp<arith::SelectOp>())
    pivot = select.getFalseValue();
  auto max = pivot.getDefiningOp<arith::MaximumFOp>();
  return max && max->hasAttr(kLazyAttr) &&
         (max.getLhs() == sub.getLhs() || max.getRhs() == sub.getLhs());
}

/// Whether `v` is made of constants and of `leaves` alone, one of them at least.
static bool isMadeOf(Value v, const llvm::DenseSet<Value> &leaves,
                     Block *body) {
  bool hasLeaf = false;
  SmallVector<Value> work{v};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (leaves.contains(next)) {
      hasLeaf = true;
      continue;
    }
    Operation *def = next.getDefiningOp();
    if (!def)
      return false;
    if (def->getBlock() != body || def->hasTrait<OpTrait::ConstantLike>())
      continue;
    if (isa<ReduceOp, IndexOp>(def))
      return false;
    llvm::append_range(work, def->getOperands());
  }
  return hasLeaf;
}

/// The state of that number, and what it becomes.
static std::pair<Value, Value> getState(FoldOp fold, unsigned s) {
  Block *body = fold.getProgramBody();
  auto yield = cast<YieldOp>(body->getTerminator());
  return {body->getArgument(fold.getInputs().size() + s), yield.getValues()[s]};
}

/// Whether `v` is a power of a pivot's distance, or 0 where a predicate says so.
static bool isWeight(Value v) {
  while (Operation *def = v.getDefiningOp()) {
    if (def->hasAttr(kPivotAttr))
      return true;
    if (isa<arith::TruncFOp, arith::ExtFOp>(def))
      v = def->getOperand(0);
    else if (auto select = dyn_cast<arith::SelectOp>(def))
      v = matchPattern(select.getTrueValue(), m_AnyZeroFloat())
              ? select.getFalseValue()
              : select.getTrueValue();
    else
      break;
  }
  return false;
}

void MatrixGenerator::findPivotMoves() {
  // Who runs redfuse-lazy-pivots and then writes another plan may have it so.
  if (plan.lag == 0)
    return;
  Block *body = plan.step.getProgramBody();
  auto states = body->getArguments().drop_front(plan.fold.getInputs().size());
  llvm::DenseSet<Value> pivots;
  // By how many powers of 2 values may be above a pivot that stays. A weight of 1 is
  // exact, a larger one is rounded to 16 bits for its product: that counts little where
  // it is a small part of its row, which the row's sum says.
  bool isByRows = plan.lag == kLagByRows;
  float headroom = !isByRows       ? float(plan.lag) / 2
                   : backs.empty() ? kHeadroom
                                   : 1;
  std::optional<unsigned> sum;
  float weightsInStep = 1;
  if (isByRows && !backs.empty())
    for (auto [s, reduce] : partialSums)
      if (Value weight = reduce.getOperand(0); isWeight(weight)) {
        sum = s;
        weightsInStep =
            float(emitter->sizeOf(emitter->shapeOf((*stepSets)[weight]))) /
            emitter->sizeOf(emitter->shapeOf((*stepSets)[reduce.getResult(0)]));
      }
  for (auto [s, arg] : llvm::enumerate(states)) {
    Value next = getState(plan.fold, s).second;
    auto max = next.getDefiningOp<arith::MaximumFOp>();
    auto scale = max ? max->getAttrOfType<FloatAttr>(kLazyAttr) : FloatAttr();
    if (!scale)
      continue;
    Value other = max.getLhs() == arg ? max.getRhs() : max.getLhs();
    ReduceOp top;
    if (auto reduce = other.getDefiningOp<ReduceOp>();
        reduce && reduce.getReducer() == Reducer::MaximumF &&
        emitter->shapeOf((*stepSets)[other]).kind == Fragment::Kind::Row)
      top = reduce;
    float power = 1 / scale.getValue().convertToFloat();
    lazyPivots.push_back(
        {max, unsigned(s), other, top, headroom, power, sum, weightsInStep});
    pivots.insert(next);
  }
  if (pivots.empty())
    return;
  for (Operation &op : *body)
    if (op.hasAttr(kPivotAttr) &&
        emitter->shapeOf((*stepSets)[op.getResult(0)]).kind ==
            Fragment::Kind::Matrix &&
        isMadeOf(getPivotOfPower(&op), pivots, body))
      pivotPowers.push_back(&op);
  for (auto [s, arg] : llvm::enumerate(states)) {
    Value moved;
    for (const MatrixProduct &product : plan.products)
      if (product.isBack && product.state == s)
        moved = product.carried;
    if (auto add = getState(plan.fold, s).second.getDefiningOp<arith::AddFOp>();
        add && !moved)
      moved = isPureTransport(add.getLhs(), arg, states) ? add.getLhs()
                                                         : add.getRhs();
    if (moved && isPureTransport(moved, arg, states))
      movedStates.push_back({unsigned(s), moved});
  }
}

/// s' = s * f + sum of x, or s + sum of x: the sums of each thread, carried on by
/// themselves, are those of the row in the end. Their factors are the same in all
/// threads of a row, because nothing else sees what differs.
void MatrixGenerator::findPartialSums() {
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s) {
    auto [state, next] = getState(plan.fold, s);
    auto add = next.getDefiningOp<arith::AddFOp>();
    auto zero = dyn_cast<FloatAttr>(plan.fold.getIdentities()[s]);
    if (!add || !next.hasOneUse() || !state.hasOneUse() || !zero ||
        !zero.getValue().isZero() ||
        emitter->shapeOf((*stepSets)[next]).kind != Fragment::Kind::Row)
      continue;
    for (bool isLeft : {true, false}) {
      Value sum = isLeft ? add.getLhs() : add.getRhs();
      Value carried = isLeft ? add.getRhs() : add.getLhs();
      ReduceOp reduce = getOwnReduction(sum, Reducer::Add);
      auto mul = carried.getDefiningOp<arith::MulFOp>();
      bool isState = carried == state ||
                     (mul && carried.hasOneUse() &&
                      (mul.getLhs() == state || mul.getRhs() == state));
      if (!reduce || !isState ||
          llvm::any_of(plan.products, [&](const MatrixProduct &product) {
            return product.reduce == reduce;
          }))
        continue;
      partialSums.push_back({s, reduce});
      emitter->inThread.insert(reduce);
      break;
    }
  }
}

//===----------------------------------------------------------------------===//
// Moves of pivots
//===----------------------------------------------------------------------===//

/// The powers of matrices, for what the pivots are now.
SmallVector<PowerScale> MatrixGenerator::scalePowers() {
  return llvm::map_to_vector(pivotPowers, [&](Operation *op) {
    return emitter->scaleOfPower(op, emitter->get(getPivotOfPower(op)));
  });
}

/// What values may be while a pivot stays. A thread goes by the mean of what it has
/// summed itself. Made before the products are waited for: nothing waits for it.
SmallVector<Fragment>
MatrixGenerator::findLimits(const DenseMap<unsigned, Fragment> &states) {
  SmallVector<Fragment> limits;
  auto constant = [&](float v) -> Value {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(v));
  };
  for (const LazyPivot &lazy : lazyPivots) {
    Fragment limit = states.lookup(lazy.state);
    float headroom = lazy.sum ? kHeadroom : lazy.headroom;
    Value most = constant(headroom * lazy.power);
    Value share = lazy.sum ? findShare(lazy) : Value();
    for (auto [row, v] : llvm::enumerate(limit.values)) {
      if (!share) {
        v = arith::AddFOp::create(b, loc, v, most);
        continue;
      }
      Value sum = emitter->elementFor(states.lookup(*lazy.sum), limit, row);
      Value part =
          ptx.saturatedFma(ptx.coarseLog2(sum),
                           constant(Ptx::kCoarseLog2Unit / kHeadroom), share);
      v = math::FmaOp::create(b, loc, part, most, v);
    }
    limits.push_back(std::move(limit));
  }
  return limits;
}

/// log2 of how many times the mean of its row a weight may be while the pivot stays. The
/// rounding of a weight is seen in a result of which it is a large part in the end, and
/// pivots move in few steps where a weight has to be far above the mean. 48 times is both
/// for a row of some thousand; shorter ones allow a tenth of the row, longer ones a part
/// that falls with the root of their length, and the short walks among longer ones take
/// little of the time.
static float log2TimesMean(int64_t extent) {
  constexpr int64_t kLong = 4096;
  return std::log2(!ShapedType::isDynamic(extent) && extent >= kLong ? 20.f
                                                                     : 48.f);
}

/// What is added to the coarse logarithm of a thread's sum for a limit, in parts of
/// kHeadroom.
Value MatrixGenerator::findShare(const LazyPivot &lazy) {
  constexpr float kUnit = Ptx::kCoarseLog2Unit / kHeadroom;
  constexpr float kBias = Ptx::kCoarseLog2Bias / kHeadroom;
  const float part = std::log2(0.1f) / kHeadroom;
  const float tile = std::log2(float(plan.tileOf(*plan.stream))) / kHeadroom;
  const float mean =
      log2TimesMean(space.staticExtents[*plan.stream]) / kHeadroom;
  auto constant = [&](float v) -> Value {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(v));
  };
  // log2 + what is added, in parts of kHeadroom.
  auto logOfSteps = [&](Value until, float add) -> Value {
    Value steps = arith::IndexCastOp::create(
        b, loc, b.getI32Type(),
        arith::SubIOp::create(b, loc, until, walked.begin));
    return math::FmaOp::create(b, loc, ptx.coarseLog2(ptx.toFloat(steps)),
                               constant(kUnit), constant(add - kBias));
  };
  auto at = [](Value v) { return getConstantIntValue(getAsOpFoldResult(v)); };
  Value times;
  if (std::optional<int64_t> begin = at(walked.begin), end = at(walked.end);
      begin && end) {
    float all = tile + std::log2(float(*end - *begin)) / kHeadroom;
    times = constant(std::max(all / 2, std::min(all + part, mean)));
  } else {
    Value all = logOfSteps(walked.end, tile);
    times = arith::MaximumFOp::create(
        b, loc, arith::MulFOp::create(b, loc, all, constant(0.5)),
        arith::MinimumFOp::create(
            b, loc, arith::AddFOp::create(b, loc, all, constant(part)),
            constant(mean)));
  }
  // Over the sum of so many weights, whose logarithm has a bias too.
  Value summed =
      logOfSteps(atStep, std::log2(lazy.weightsInStep) / kHeadroom + kBias);
  return arith::SubFOp::create(b, loc, times, summed);
}

/// Whether a pivot moves in this step.
Value MatrixGenerator::findMove(ArrayRef<Fragment> limits) {
  Value moves;
  for (auto [lazy, limit] : llvm::zip_equal(lazyPivots, limits)) {
    Value one = lazy.top ? emitter->isAnyAbove(lazy.top, limit)
                         : emitter->isAbove(emitter->get(lazy.other), limit);
    moves = moves ? Value(arith::OrIOp::create(b, loc, moves, one)) : one;
  }
  return moves;
}

/// Where they move: the maxima of rows become pivots, and states go along.
SmallVector<PowerScale>
MatrixGenerator::movePivots(Value moves, const Carried &before,
                            ArrayRef<MovedState> along) {
  const DenseMap<unsigned, Fragment> &states = before.states;
  // Pivots, what powers are made with, states.
  SmallVector<Fragment> stay;
  for (const LazyPivot &lazy : lazyPivots)
    stay.push_back(states.lookup(lazy.state));
  for (const PowerScale &scale : before.scales)
    stay.append({scale.by, scale.from});
  llvm::append_range(stay, statesBefore(along));
  inBranch(moves, stay, [&] {
    SmallVector<Fragment> go;
    for (const LazyPivot &lazy : lazyPivots) {
      Fragment top = emitter->get(lazy.other);
      go.push_back(emitter->apply(arith::MaximumFOp(lazy.max),
                                  {states.lookup(lazy.state), top}));
    }
    for (auto [lazy, pivot] : llvm::zip(lazyPivots, go))
      emitter->values[getState(plan.fold, lazy.state).second] = pivot;
    for (const PowerScale &scale : scalePowers())
      go.append({scale.by, scale.from});
    llvm::append_range(go, statesAfter(along));
    return go;
  });
  ArrayRef<Fragment> made = stay;
  for (const LazyPivot &lazy : lazyPivots) {
    emitter->values[getState(plan.fold, lazy.state).second] = made.front();
    made = made.drop_front();
  }
  SmallVector<PowerScale> scales;
  for (size_t i = 0; i < pivotPowers.size(); ++i) {
    scales.push_back({made[0], made[1]});
    made = made.drop_front(2);
  }
  for (auto [moved, state] : llvm::zip_equal(along, made))
    emitter->values[moved.value] = state;
  return scales;
}

/// Where pivots have moved: states that were not there yet go along.
void MatrixGenerator::moveStates(Value moves, ArrayRef<MovedState> along) {
  SmallVector<Fragment> states = statesBefore(along);
  inBranch(moves, states, [&] { return statesAfter(along); });
  for (auto [moved, state] : llvm::zip_equal(along, states))
    emitter->values[moved.value] = state;
}

/// States as the step finds them, and as they are after a move.
SmallVector<Fragment>
MatrixGenerator::statesBefore(ArrayRef<MovedState> along) {
  return llvm::map_to_vector(along, [&](const MovedState &moved) {
    return emitter->values.lookup(getState(plan.fold, moved.state).first);
  });
}

SmallVector<Fragment> MatrixGenerator::statesAfter(ArrayRef<MovedState> along) {
  SmallVector<Fragment> states = statesBefore(along);
  for (auto [moved, state] : llvm::zip_equal(along, states)) {
    const Fragment &carried = emitter->get(moved.value);
    for (size_t e = 0; e < state.values.size(); ++e)
      if (isAsked(state, e))
        state.values[e] = emitter->elementFor(carried, state, e);
  }
  return states;
}

/// Fragments that are those of `then` where the condition holds.
void MatrixGenerator::inBranch(Value condition,
                               MutableArrayRef<Fragment> fragments,
                               function_ref<SmallVector<Fragment>()> then) {
  auto listOf = [](ArrayRef<Fragment> fragments) {
    SmallVector<Value> list;
    for (const Fragment &fragment : fragments)
      llvm::append_range(list, fragment.values);
    return list;
  };
  SmallVector<Value> list = listOf(fragments);
  auto branch =
      scf::IfOp::create(b, loc, ValueRange(list).getTypes(), condition,
                        /*withElse=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, loc, list);
    b.setInsertionPointToStart(branch.thenBlock());
    DenseMap<Value, Fragment> outside = emitter->values;
    scf::YieldOp::create(b, loc, listOf(then()));
    emitter->values = std::move(outside);
  }
  ValueRange results = branch.getResults();
  for (Fragment &fragment : fragments) {
    size_t n = fragment.values.size();
    fragment.values.assign(results.begin(), results.begin() + n);
    results = results.drop_front(n);
  }
}

/// What powers are made with in this step, and carried to the next. `moves` is null
/// in the first step.
void MatrixGenerator::setPivots(Value moves, const Carried &before,
                                Carried &after, ArrayRef<MovedState> along) {
  if (lazyPivots.empty())
    return;
  after.scales = moves ? movePivots(moves, before, along) : scalePowers();
  for (auto [power, scale] : llvm::zip_equal(pivotPowers, after.scales))
    emitter->powers[power] = scale;
}

/// States that no product is added to.
void MatrixGenerator::yieldOthers(const Carried &before, Carried &after) {
  for (unsigned s = 0; s < plan.fold.getNumStates(); ++s) {
    if (after.states.contains(s))
      continue;
    const Fragment &value = emitter->get(getState(plan.fold, s).second);
    Fragment shape = before.states.lookup(s);
    for (size_t e = 0; e < shape.values.size(); ++e)
      shape.values[e] = emitter->elementFor(value, shape, e);
    after.states[s] = shape;
  }
}

/// Whether anybody asks for an element of a state: not of rows that do not exist.
/// Between several loops ptxas would copy the others, and serialise products.
bool MatrixGenerator::isAsked(const Fragment &state, size_t element) const {
  return !plan.hasLowerRowsOnly(space) || !hasOneWalk ||
         state.kind != Fragment::Kind::Matrix || state.rowOf(element) == 0;
}

/// What the state of a product is before its products are added.
Fragment MatrixGenerator::carryState(unsigned product, Fragment state) {
  const Fragment &carried = emitter->get(plan.products[product].carried);
  for (size_t e = 0; e < state.values.size(); ++e)
    if (isAsked(state, e))
      state.values[e] = carried.at(e);
  return state;
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

/// Two warpgroups take turns: one starts its products when those of the other are
/// made, and computes while the other multiplies. Without, they would as well do the
/// same at the same time. Both have the same steps.
bool MatrixGenerator::hasTurns() const {
  return plan.stream && plan.consumers == 2 && !plan.hasTiledSums() &&
         plan.target.hasWarpgroups;
}

/// Numbered barriers, one for each warpgroup.
void MatrixGenerator::takeTurn() {
  emitPtx(b, loc, "bar.sync $0, 256;", "r", ptx.add(group, kFirstTurn));
}

void MatrixGenerator::passTurn() {
  Value other = arith::XOrIOp::create(b, loc, group, ptx.i32(1));
  emitPtx(b, loc, "bar.arrive $0, 256;", "r", ptx.add(other, kFirstTurn));
}

/// The first turn is passed before all tiles, and the last one taken after them.
void MatrixGenerator::inTurns(function_ref<void()> body) {
  auto of = [&](int64_t number, function_ref<void()> then) {
    Value isOurs = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                         group, ptx.i32(number));
    auto branch = scf::IfOp::create(b, loc, isOurs, /*withElse=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenYield());
    then();
  };
  if (!hasTurns())
    return body();
  of(1, [&] { passTurn(); });
  body();
  of(0, [&] { takeTurn(); });
}

/// Values that the states are multiplied by, made while their products run.
void MatrixGenerator::emitTransports(ValueRange states) {
  Block *body = plan.step.getProgramBody();
  for (unsigned i : backs) {
    Value wide = states[plan.products[i].state];
    SmallVector<Value> work{plan.products[i].carried};
    llvm::DenseSet<Value> seen, needsWide;
    // Body order: a value after its operands.
    for (Operation &inner : body->without_terminator())
      for (Value operand : inner.getOperands())
        if (operand == wide || needsWide.contains(operand))
          needsWide.insert(inner.getResult(0));
    while (!work.empty()) {
      Value v = work.pop_back_val();
      if (!seen.insert(v).second || v == wide || v.getParentBlock() != body)
        continue;
      if (!needsWide.contains(v))
        emitter->get(v);
      else
        llvm::append_range(work, v.getDefiningOp()->getOperands());
    }
  }
}

MatrixGenerator::Carried MatrixGenerator::emitStep(Carried before,
                                                   bool isFirst) {
  Block *body = plan.step.getProgramBody();
  auto states = body->getArguments().drop_front(plan.fold.getInputs().size());
  DenseMap<Value, Fragment> invariants = emitter->values;
  // In the few tiles with predicates maxima are made in any case: what that takes of
  // registers is less than both.
  bool mayStay = !isFirst && !lazyPivots.empty() && emitter->isWholeTile;
  Carried after;
  Ring ring = before.ring;
  bool tiled = llvm::any_of(layout.products,
                            [](const ProductTiles &l) { return l.left; });

  // Products of this step, and those of the last one onto the states.
  SmallVector<Value> frontSlots, backSlots;
  DenseMap<unsigned, SmallVector<Value>> made, sums;
  DenseMap<unsigned, Value> runningFronts, runningBacks;
  auto startFronts = [&]() {
    for (unsigned i : fronts) {
      if (layout.products[i].left) {
        made[i] = multiplyTiled(i, ring, backSlots);
        continue;
      }
      ptx.wait(fullBarrier(ring.slot), ring.phase);
      runningFronts[i] = start(i, ring.slot, {}, leftOperands[i]);
      frontSlots.push_back(ring.slot);
      ring = advance(ring);
    }
  };
  auto startBacks = [&]() {
    if (isFirst)
      return;
    for (auto [at, i] : llvm::enumerate(backs)) {
      ptx.wait(fullBarrier(ring.slot), ring.phase);
      runningBacks[i] =
          start(i, ring.slot, before.states[plan.products[i].state].values,
                before.packed[at]);
      backSlots.push_back(ring.slot);
      ring = advance(ring);
    }
  };
  bool takesTurns = !isFirst && hasTurns();
  if (takesTurns)
    takeTurn();
  if (tiled) {
    startBacks();
    startFronts();
  } else {
    startFronts();
    startBacks();
  }
  after.ring = ring;
  auto waitFor = [&](ArrayRef<unsigned> products,
                     const DenseMap<unsigned, Value> &running,
                     DenseMap<unsigned, SmallVector<Value>> &results,
                     int64_t pending, ArrayRef<Value> alive) {
    SmallVector<unsigned> which;
    SmallVector<Value> accumulators;
    for (unsigned i : products)
      if (Value v = running.lookup(i)) {
        which.push_back(i);
        accumulators.push_back(v);
      }
    SmallVector<Value> all = ptx.waitProducts(pending, accumulators, alive);
    ArrayRef<Value> rest = all;
    for (auto [i, v] : llvm::zip_equal(which, accumulators)) {
      size_t n = cast<tile::AccumulatorsType>(v.getType()).getSize();
      results[i].assign(rest.begin(), rest.begin() + n);
      rest = rest.drop_front(n);
    }
  };
  for (auto [s, arg] : llvm::enumerate(states)) {
    bool isWide = llvm::any_of(
        backs, [&](unsigned i) { return plan.products[i].state == s; });
    if (!isWide)
      emitter->values[arg] = before.states[s];
  }
  SmallVector<Fragment> limits;
  if (mayStay)
    limits = findLimits(before.states);
  if (!frontSlots.empty()) {
    waitFor(fronts, runningFronts, made, isFirst ? 0 : backs.size(), {});
    if (takesTurns)
      passTurn();
    for (Value slot : frontSlots)
      ptx.arrive(emptyBarrier(slot), emitter->lane);
  }
  for (unsigned i : fronts)
    emitter->values[plan.products[i].reduce.getResult(0)] =
        asFragment(i, made[i]);
  Value moves;
  if (mayStay)
    moves = findMove(limits);
  else
    emitTransports(states);
  auto takeSums = [&] {
    if (isFirst)
      return;
    waitFor(backs, runningBacks, sums, 0, before.packed);
    for (Value slot : backSlots)
      ptx.arrive(emptyBarrier(slot), emitter->lane);
    for (unsigned i : backs) {
      unsigned s = plan.products[i].state;
      after.states[s].values = sums[i];
      emitter->values[states[s]] = after.states[s];
    }
  };
  auto carryAll = [&] {
    for (unsigned i : isFirst ? ArrayRef<unsigned>() : ArrayRef(backs)) {
      Fragment &state = after.states[plan.products[i].state];
      state = carryState(i, state);
    }
  };
  // Transport takes the identity to itself.
  for (unsigned i : backs)
    after.states[plan.products[i].state] =
        before.states.lookup(plan.products[i].state);
  // One warpgroup computes while its own products run: what they are added to goes
  // along with pivots after them. Between several loops ptxas would copy operands
  // while products run, and so serialise them. Where states go through global memory
  // it gains nothing.
  bool areSumsLate =
      moves && plan.consumers == 1 && hasOneWalk && plan.groups() == 1;
  SmallVector<MovedState> along, late;
  for (const MovedState &moved : movedStates)
    (areSumsLate && after.states.contains(moved.state) ? late : along)
        .push_back(moved);
  if (!areSumsLate)
    takeSums();
  setPivots(moves, before, after, along);
  if (!areSumsLate)
    carryAll();
  // Sums before the packed operands of the same values: ptxas then adds and packs
  // as the powers come.
  yieldOthers(before, after);
  for (unsigned i : backs)
    after.packed.push_back(emitter->packLeft(plan.products[i]));
  if (areSumsLate) {
    // ptxas would wait for the products first.
    after.packed = ptx.settle(after.packed);
    takeSums();
    moveStates(moves, late);
    carryAll();
  }
  emitter->values = std::move(invariants);
  emitter->powers.clear();
  return after;
}

/// Sums that were kept by thread become those of rows.
void MatrixGenerator::completeSums(DenseMap<unsigned, Fragment> &states) {
  for (auto [s, reduce] : partialSums)
    states[s] = emitter->acrossLanes(reduce, states[s]);
}
