//===- PivotUpdates.cpp - pivots that lag, and their moves ----------------===//
#include "PivotUpdates.h"

#include "redfuse/Codegen/GPU/MatrixUnits/Plan/Tuning.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace redfuse;

/// Whether `v` is the state times an exponential of a lazy pivot's move: the state itself
/// where the pivot stays.
static bool isPureTransport(Value v, Value state, ValueRange states) {
  auto mul = v.getDefiningOp<arith::MulFOp>();
  if (!mul || (mul.getLhs() != state && mul.getRhs() != state))
    return false;
  Value factor = mul.getLhs() == state ? mul.getRhs() : mul.getLhs();
  Operation *exponential = factor.getDefiningOp();
  if (!exponential || !exponential->hasAttr(kPivotAttr))
    return false;
  Value exponent = exponential->getOperand(0);
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

/// Whether `v` is an exponential of a pivot's distance, or 0 where a predicate says so.
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

std::pair<Value, Value> redfuse::getState(FoldOp fold, unsigned s) {
  Block *body = fold.getProgramBody();
  auto yield = cast<YieldOp>(body->getTerminator());
  return {body->getArgument(fold.getInputs().size() + s), yield.getValues()[s]};
}

//===----------------------------------------------------------------------===//
// What is known of the body
//===----------------------------------------------------------------------===//

void PivotUpdates::find(ArrayRef<std::pair<unsigned, ReduceOp>> sums) {
  // Who runs redfuse-lazy-pivots and then writes another plan may have it so.
  if (plan.threshold == 0)
    return;
  findPivots(sums);
  if (pivots.empty())
    return;
  llvm::DenseSet<Value> made;
  for (const LazyPivot &lazy : pivots)
    made.insert(getState(plan.fold, lazy.state).second);
  Block *body = plan.step.getProgramBody();
  for (Operation &op : *body)
    if (op.hasAttr(kPivotAttr) &&
        place.shapeOf((*of.stepSets)[op.getResult(0)]).kind ==
            Fragment::Kind::Matrix &&
        isMadeOf(getPivotOfExponential(&op), made, body))
      exponentials.push_back(&op);
  findMovedStates();
}

void PivotUpdates::findPivots(ArrayRef<std::pair<unsigned, ReduceOp>> sums) {
  Block *body = plan.step.getProgramBody();
  auto states = body->getArguments().drop_front(plan.fold.getInputs().size());
  // By how many powers of 2 values may be above a pivot that stays. A weight of 1 is
  // exact, a larger one is rounded to 16 bits for its product: that counts little where
  // it is a small part of its row, which the row's sum says.
  bool isByRows = plan.threshold == kThresholdByRows;
  float headroom = !isByRows                   ? float(plan.threshold) / 2
                   : of.secondProducts.empty() ? kHeadroom
                                               : 1;
  std::optional<unsigned> sum;
  float weightsInStep = 1;
  if (isByRows && !of.secondProducts.empty())
    for (auto [s, reduce] : sums)
      if (Value weight = reduce.getOperand(0); isWeight(weight)) {
        sum = s;
        weightsInStep =
            float(place.sizeOf(place.shapeOf((*of.stepSets)[weight]))) /
            place.sizeOf(place.shapeOf((*of.stepSets)[reduce.getResult(0)]));
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
        place.shapeOf((*of.stepSets)[other]).kind == Fragment::Kind::Row)
      top = reduce;
    float power = 1 / scale.getValue().convertToFloat();
    pivots.push_back(
        {max, unsigned(s), other, top, headroom, power, sum, weightsInStep});
  }
}

void PivotUpdates::findMovedStates() {
  Block *body = plan.step.getProgramBody();
  auto states = body->getArguments().drop_front(plan.fold.getInputs().size());
  for (auto [s, arg] : llvm::enumerate(states)) {
    Value moved;
    for (const MatrixProduct &product : plan.products)
      if (product.isSecond && product.state == s)
        moved = product.carried;
    if (auto add = getState(plan.fold, s).second.getDefiningOp<arith::AddFOp>();
        add && !moved)
      moved = isPureTransport(add.getLhs(), arg, states) ? add.getLhs()
                                                         : add.getRhs();
    if (moved && isPureTransport(moved, arg, states))
      movedStates.push_back({unsigned(s), moved});
  }
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

/// What values may be while a pivot stays. A thread goes by the mean of what it has
/// summed itself. Made before the products are waited for: nothing waits for it.
SmallVector<Fragment> PivotUpdates::findLimits(const StateFragments &states) {
  SmallVector<Fragment> limits;
  auto constant = [&](float v) -> Value {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(v));
  };
  for (const LazyPivot &lazy : pivots) {
    Fragment limit = states.lookup(lazy.state);
    float headroom = lazy.sum ? kHeadroom : lazy.headroom;
    Value most = constant(headroom * lazy.power);
    Value share = lazy.sum ? findShare(lazy) : Value();
    for (auto [row, v] : llvm::enumerate(limit.values)) {
      if (!share) {
        v = arith::AddFOp::create(b, loc, v, most);
        continue;
      }
      Value sum = place.elementFor(states.lookup(*lazy.sum), limit, row);
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
/// pivots move in few steps where a weight has to be far above the mean. kTimesMean is both
/// for a row of some thousand; shorter ones allow a tenth of the row, longer ones a part
/// that falls with the root of their length, and the short mainloops among longer ones take
/// little of the time.
static float log2TimesMean(int64_t extent) {
  bool isLong = !ShapedType::isDynamic(extent) && extent >= kLongRowOfPivot;
  return std::log2(isLong ? kTimesMeanOfLong : kTimesMean);
}

/// What is added to the coarse logarithm of a thread's sum for a limit, in parts of
/// kHeadroom.
Value PivotUpdates::findShare(const LazyPivot &lazy) {
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
        arith::SubIOp::create(b, loc, until, position.steps.begin));
    return math::FmaOp::create(b, loc, ptx.coarseLog2(ptx.toFloat(steps)),
                               constant(kUnit), constant(add - kBias));
  };
  auto at = [](Value v) { return getConstantIntValue(getAsOpFoldResult(v)); };
  Value times;
  if (std::optional<int64_t> begin = at(position.steps.begin),
      end = at(position.steps.end);
      begin && end) {
    float all = tile + std::log2(float(*end - *begin)) / kHeadroom;
    times = constant(std::max(all / 2, std::min(all + part, mean)));
  } else {
    Value all = logOfSteps(position.steps.end, tile);
    times = arith::MaximumFOp::create(
        b, loc, arith::MulFOp::create(b, loc, all, constant(0.5)),
        arith::MinimumFOp::create(
            b, loc, arith::AddFOp::create(b, loc, all, constant(part)),
            constant(mean)));
  }
  // Over the sum of so many weights, whose logarithm has a bias too.
  Value summed = logOfSteps(position.at,
                            std::log2(lazy.weightsInStep) / kHeadroom + kBias);
  return arith::SubFOp::create(b, loc, times, summed);
}

Value PivotUpdates::findMove(ArrayRef<Fragment> limits) {
  Value moves;
  for (auto [lazy, limit] : llvm::zip_equal(pivots, limits)) {
    Value one = lazy.top ? emitter.reducer.isAnyAbove(lazy.top, limit)
                         : emitter.math.isAbove(emitter.get(lazy.other), limit);
    moves = moves ? Value(arith::OrIOp::create(b, loc, moves, one)) : one;
  }
  return moves;
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// The exponentials of matrices, for what the pivots are now.
SmallVector<ExponentialScale> PivotUpdates::scaleExponentials() {
  return llvm::map_to_vector(exponentials, [&](Operation *op) {
    return emitter.math.scaleOfExponential(
        op, emitter.get(getPivotOfExponential(op)));
  });
}

/// Where they move: the maxima of rows become pivots, and states go along.
SmallVector<ExponentialScale>
PivotUpdates::move(Value moves, const StateFragments &states,
                   ArrayRef<ExponentialScale> scales,
                   ArrayRef<MovedState> along) {
  // Pivots, what exponentials are made with, states.
  SmallVector<Fragment> stay;
  for (const LazyPivot &lazy : pivots)
    stay.push_back(states.lookup(lazy.state));
  for (const ExponentialScale &scale : scales)
    stay.append({scale.by, scale.from});
  llvm::append_range(stay, statesBefore(along));
  inBranch(moves, stay, [&] {
    SmallVector<Fragment> go;
    for (const LazyPivot &lazy : pivots) {
      Fragment top = emitter.get(lazy.other);
      go.push_back(emitter.math.apply(arith::MaximumFOp(lazy.max),
                                      {states.lookup(lazy.state), top}));
    }
    for (auto [lazy, pivot] : llvm::zip(pivots, go))
      emitter.values[getState(plan.fold, lazy.state).second] = pivot;
    for (const ExponentialScale &scale : scaleExponentials())
      go.append({scale.by, scale.from});
    llvm::append_range(go, statesAfter(along));
    return go;
  });
  ArrayRef<Fragment> made = stay;
  for (const LazyPivot &lazy : pivots) {
    emitter.values[getState(plan.fold, lazy.state).second] = made.front();
    made = made.drop_front();
  }
  SmallVector<ExponentialScale> moved;
  for (size_t i = 0; i < exponentials.size(); ++i) {
    moved.push_back({made[0], made[1]});
    made = made.drop_front(2);
  }
  for (auto [state, value] : llvm::zip_equal(along, made))
    emitter.values[state.value] = value;
  return moved;
}

void PivotUpdates::moveStates(Value moves, ArrayRef<MovedState> along) {
  SmallVector<Fragment> states = statesBefore(along);
  inBranch(moves, states, [&] { return statesAfter(along); });
  for (auto [moved, state] : llvm::zip_equal(along, states))
    emitter.values[moved.value] = state;
}

/// States as the step finds them, and as they are after a move.
SmallVector<Fragment> PivotUpdates::statesBefore(ArrayRef<MovedState> along) {
  return llvm::map_to_vector(along, [&](const MovedState &moved) {
    return emitter.values.lookup(getState(plan.fold, moved.state).first);
  });
}

SmallVector<Fragment> PivotUpdates::statesAfter(ArrayRef<MovedState> along) {
  SmallVector<Fragment> states = statesBefore(along);
  for (auto [moved, state] : llvm::zip_equal(along, states)) {
    const Fragment &carried = emitter.get(moved.value);
    for (size_t e = 0; e < state.values.size(); ++e)
      if (isAsked(state, e))
        state.values[e] = place.elementFor(carried, state, e);
  }
  return states;
}

/// Fragments that are those of `then` where the condition holds.
void PivotUpdates::inBranch(Value condition,
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
    DenseMap<Value, Fragment> outside = emitter.values;
    scf::YieldOp::create(b, loc, listOf(then()));
    emitter.values = std::move(outside);
  }
  ValueRange results = branch.getResults();
  for (Fragment &fragment : fragments) {
    size_t n = fragment.values.size();
    fragment.values.assign(results.begin(), results.begin() + n);
    results = results.drop_front(n);
  }
}

SmallVector<ExponentialScale>
PivotUpdates::update(Value moves, const StateFragments &states,
                     ArrayRef<ExponentialScale> scales,
                     ArrayRef<MovedState> along) {
  if (pivots.empty())
    return {};
  SmallVector<ExponentialScale> made =
      moves ? move(moves, states, scales, along) : scaleExponentials();
  for (auto [exponential, scale] : llvm::zip_equal(exponentials, made))
    emitter.exponentials[exponential] = scale;
  return made;
}

bool PivotUpdates::isAsked(const Fragment &state, size_t element) const {
  return !plan.hasLowerRowsOnly(space) || !position.hasOneLoop ||
         state.kind != Fragment::Kind::Matrix || state.rowOf(element) == 0;
}
