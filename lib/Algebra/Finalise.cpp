//===- Finalise.cpp - the results of a cascade from its state -------------===//
#include "Rewriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace redfuse;

Value Rewriter::shiftValue(BodyBuilder &bb, const Shift &shift, Type type,
                           const State &state) {
  if (!shift.numerator) {
    const DifferencePivot &p = d.pivots[shift.pivot];
    if (!p.exponential)
      return bb.sum(bb.cast(state[p.component], type), shift.done, type);
    // Each pivot with the maximum that the source subtracts, first: they cancel
    // exactly. As in the loop an infinite one is 0; what is infinite is in the
    // exponential's own factor.
    Linear done = shift.done;
    Value total;
    auto add = [&](unsigned component, double coefficient) {
      Value pivot = safePivot(bb, bb.cast(state[component], type));
      auto *same = llvm::find_if(done, [&](const Monomial &m) {
        return m.scale == -coefficient && m.factors.size() == 1 &&
               m.factors[0].exponent == 1 &&
               bb.get(m.factors[0].value) == state[component];
      });
      if (same != done.end()) {
        pivot = bb.sub(pivot, bb.cast(bb.get(same->factors[0].value), type));
        done.erase(same);
      }
      if (!total)
        total = coefficient < 0 ? bb.neg(pivot) : pivot;
      else
        total = coefficient < 0 ? bb.sub(total, pivot) : bb.add(total, pivot);
    };
    add(p.component, 1);
    for (auto [index, coefficient] : p.others)
      add(d.exponentials[index].pivot, coefficient);
    return bb.sum(total, done, type);
  }
  Value n = bb.cast(state[*shift.numerator], type);
  Value weight = shift.denominator ? bb.cast(state[*shift.denominator], type)
                                   : bb.constant(shift.count, type);
  // A mean that is not finite comes from data that is not: the source subtracts
  // it from that and gets NaN.
  Value q = bb.neg(bb.div(n, weight));
  return bb.select(bb.isFinite(q), q, bb.constant(std::nan(""), type));
}

Value Rewriter::termValue(BodyBuilder &bb, const StageTerm &term, Type type,
                          const State &state) {
  Value factor; // What multiplies the component, but for `done`.
  if (term.exponent) {
    Value pivot;
    if (term.component && d.components[*term.component].exponential) {
      const PivotedExponential &e =
          d.exponentials[*d.components[*term.component].exponential];
      pivot = bb.cast(state[e.pivot], type);
    }
    factor = bb.exp(bb.sum(pivot, *term.exponent, type), term.isBase2);
  }
  auto finalised = [&](std::optional<unsigned> component) {
    Value v = component ? bb.cast(state[*component], type) : Value();
    if (factor)
      v = v ? bb.mul(v, factor) : factor;
    for (auto [index, power] : term.shifts) {
      Value q = shiftValue(bb, d.shifts[index], type, state);
      for (int i = 0; i < power; ++i)
        v = v ? bb.mul(v, q) : q;
    }
    return bb.product(v, term.done, term.scale, type);
  };
  Value result = finalised(term.component);
  // Where a factor is infinite or a divisor 0, the source has only infinities
  // and NaN to add: what comes out is told by the ends of the range.
  Value ends;
  if (term.high)
    ends = bb.add(finalised(term.high), finalised(term.low));
  bool isPower =
      !term.shifts.empty() ||
      (term.component && !d.components[*term.component].powers.empty());
  if (isPower && !term.guardedShift)
    ends = bb.constant(std::nan(""), type); // Differences have both signs.
  if (term.guardedShift) {
    Value q = shiftValue(bb, d.shifts[*term.guardedShift], type, state);
    Value instead = ends;
    if (term.shifts.empty()) { // Data that is finite does not count beside q.
      Value t = bb.cast(state[*term.component], type);
      instead = bb.select(bb.isFinite(t), bb.constant(0, type), t);
    }
    if (instead)
      result = bb.select(bb.isInfinite(q), instead, result);
    ends = bb.constant(std::nan(""), type);
  }
  for (Factor f : term.done) {
    if (!isRisky(roles, f) || !ends)
      continue;
    Value v = bb.cast(bb.get(f.value), type);
    Value isDegenerate = f.exponent < 0 ? bb.isEqual(v, 0) : bb.isInfinite(v);
    result = bb.select(isDegenerate, ends, result);
  }
  if (term.some)
    result = bb.select(state[*term.some], result, bb.constant(0, type));
  return result;
}

Value Rewriter::overflowed(BodyBuilder &bb, const StageChoice &choice,
                           Type type, const State &state, Value sum) {
  Value top, shiftsAreFinite;
  for (const StageTerm &term : choice.terms) {
    for (auto [index, power] : term.shifts) {
      if (!d.shifts[index].numerator)
        return sum;
      Value finite = bb.isFinite(shiftValue(bb, d.shifts[index], type, state));
      shiftsAreFinite =
          shiftsAreFinite
              ? arith::AndIOp::create(bb.b, loc, shiftsAreFinite, finite)
              : finite;
    }
    if (term.guardedShift || !term.inner.empty())
      return sum;
    if (!term.shifts.empty())
      continue;
    if (term.component) {
      const Component &c = d.components[*term.component];
      bool isEven =
          llvm::all_of(c.powers, [](auto p) { return !(p.second % 2); });
      if (c.exponential || (!isEven && !c.data.empty()))
        return sum;
    }
    Value v = termValue(bb, term, type, state);
    top = top ? bb.add(top, v) : v;
  }
  if (!top || !shiftsAreFinite)
    return sum;
  Value isFinite = bb.isFinite(top);
  Value instead = bb.select(shiftsAreFinite, top, sum);
  return bb.select(isFinite, sum, instead);
}

Value Rewriter::choiceValue(BodyBuilder &bb, ReduceOp reduce,
                            const StageChoice &choice, Type type,
                            const State &state) {
  if (choice.predicate)
    return bb.select(bb.get(choice.predicate),
                     choiceValue(bb, reduce, *choice.onTrue, type, state),
                     choiceValue(bb, reduce, *choice.onFalse, type, state));
  // Terms that are summed over the same other dims are so together.
  Value result;
  SmallVector<std::pair<ArrayRef<int64_t>, Value>> sums;
  for (const StageTerm &term : choice.terms) {
    Value v = termValue(bb, term, type, state);
    auto *same = llvm::find_if(
        sums, [&](auto &sum) { return sum.first == ArrayRef(term.inner); });
    if (same == sums.end())
      sums.push_back({term.inner, v});
    else
      same->second = bb.add(same->second, v);
  }
  for (auto [inner, v] : sums) {
    if (!inner.empty()) {
      // What other terms have along these dims is no part of this sum.
      auto into = llvm::filter_to_vector(reduce.getInto(), [&](int64_t d) {
        return !llvm::is_contained(inner, d);
      });
      v = ReduceOp::create(bb.b, loc, Reducer::Add, ValueRange{v}, inner, into)
              .getResult(0);
    }
    result = result ? bb.add(result, v) : v;
  }
  if (!result)
    return bb.constant(0, type);
  return overflowed(bb, choice, type, state, result);
}

/// Whether a term of `choice` is added up in f64.
static bool usesF64(const Derivation &d, const StageChoice &choice) {
  if (choice.predicate)
    return usesF64(d, *choice.onTrue) || usesF64(d, *choice.onFalse);
  return llvm::any_of(choice.terms, [&](const StageTerm &term) {
    return term.component && d.components[*term.component].type.isF64();
  });
}

Value Rewriter::stageValue(BodyBuilder &bb, const Stage &stage,
                           const State &state) {
  ReduceOp reduce = stage.reduce;
  Value operand = reduce.getOperand(0);
  Type type = getAccumulatorType(operand.getType());
  if (stage.value && usesF64(d, *stage.value))
    type = bb.b.getF64Type();
  Value result;
  switch (stage.kind) {
  case Stage::Kind::Sum:
    result = choiceValue(bb, reduce, *stage.value, type, state);
    break;
  case Stage::Kind::Joint:
  case Stage::Kind::Product:
    result = state[stage.first];
    break;
  case Stage::Kind::Selection:
    result = bb.getWith(operand, stage.data, state[stage.first]);
    if (stage.worst) {
      // NaN is never selected: where one end of the data becomes NaN it is the
      // other one, where both do there is nothing to select.
      Value worst = bb.getWith(operand, stage.data, state[*stage.worst]);
      Value none = bb.constant(
          getReducerIdentity(reduce.getReducer(), operand.getType()));
      result = bb.select(bb.isNan(result),
                         bb.select(bb.isNan(worst), none, worst), result);
    }
    break;
  case Stage::Kind::Endpoints:
    result = bb.getWith(operand, stage.data, state[stage.first]);
    if (stage.second) {
      Value other = bb.getWith(operand, stage.data, state[*stage.second]);
      result = bb.combine(reduce.getReducer(), result, other);
    }
    break;
  }
  if (stage.count) {
    TypedAttr identity =
        getReducerIdentity(reduce.getReducer(), result.getType());
    result = bb.select(bb.isEqual(state[*stage.count], 0),
                       bb.constant(identity), result);
  }
  return bb.cast(result, operand.getType());
}

Value Rewriter::selectedIndex(BodyBuilder &bb, const Stage &stage,
                              const State &state) {
  ReduceOp reduce = stage.reduce;
  Value operand = reduce.getOperand(0);
  auto at = [&](Value data) { return bb.getWith(operand, stage.data, data); };
  Value data = state[stage.first], index = state[stage.first + 1];
  Value best = at(data), lowest = state[*stage.lowest];
  if (reduce.getReducer() == Reducer::TopK) {
    Value some = at(bb.constant(1, data.getType()));
    // Where all values are NaN they keep their order.
    SmallBitVector rank = toDimSet(reduce.getInto(), numDims);
    for (Value v : reduce.getOperands())
      rank.reset(roles.getDims()[v]);
    Value position = IndexOp::create(bb.b, loc, rank.find_first());
    Value inOrder = bb.add(lowest, bb.cast(position, index.getType()));
    return bb.select(bb.both(bb.isNan(best), bb.isNan(some)), inOrder, index);
  }
  // The values at one end can be NaN, which is never selected; at both, there is
  // nothing to select. Where the ends are equal so is all between.
  Value worst = at(state[*stage.worst]);
  Value allEqual = bb.select(bb.isSame(best, worst), lowest, index);
  Value none = bb.constant(0, index.getType());
  Value other = bb.select(bb.isNan(worst), none, state[*stage.worst + 1]);
  return bb.select(bb.isNan(best), other, allEqual);
}

Value Rewriter::indexOrZero(BodyBuilder &bb, const Stage &stage, Value value,
                            const State &state) {
  Reducer reducer = ReduceOp(stage.reduce).getReducer();
  if (reducer != Reducer::ArgMax && reducer != Reducer::ArgMin)
    return value;
  // Over nothing the index is 0, as where stages run one after another.
  Value index = state[stage.first + 1];
  Value none = arith::CmpIOp::create(
      bb.b, loc, arith::CmpIPredicate::eq, index,
      bb.constant(d.components[stage.first + 1].identity));
  return bb.select(none, bb.constant(0, value.getType()), value);
}

SmallVector<Value> Rewriter::finalised(BodyBuilder &bb, const State &state) {
  for (const Stage &stage : d.stages) {
    // In one piece the source's own reduction will do for the others.
    if (isWhole && !isAroundPivot(d, stage))
      continue;
    ReduceOp reduce = stage.reduce;
    bb.map(roles.canonical(reduce.getResult(0)), stageValue(bb, stage, state));
    if (stage.kind == Stage::Kind::Joint)
      for (unsigned i = 1; i < reduce.getNumResults(); ++i)
        bb.map(roles.canonical(reduce.getResult(i)),
               indexOrZero(bb, stage, state[stage.first + i], state));
    if (stage.kind == Stage::Kind::Selection)
      bb.map(roles.canonical(reduce.getResult(1)),
             indexOrZero(bb, stage, selectedIndex(bb, stage, state), state));
  }
  for (auto assertion : body.getOps<cf::AssertOp>())
    if (roles[assertion.getArg()] != Role::Data &&
        !roles.isRunning(assertion.getArg()))
      bb.assertThat(assertion);
  SmallVector<Value> results;
  auto yield = cast<YieldOp>(body.getTerminator());
  for (auto [i, v] : llvm::enumerate(yield.getValues()))
    if (!llvm::is_contained(d.outputs, i))
      results.push_back(bb.get(v));
  return results;
}

void Rewriter::buildFinalize(Block &block) {
  BodyBuilder bb(body, block, roles, loc);
  State state = mapArguments(bb, block);
  YieldOp::create(bb.b, loc, finalised(bb, state));
  simplifyBody(block);
}
