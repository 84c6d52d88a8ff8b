//===- Rewrite.cpp - from a derivation to fold and finalize ---------------===//
#include "Rewriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace redfuse;

AffineMap Rewriter::stateMap(const Component &c) const {
  SmallVector<AffineExpr> exprs;
  for (int64_t dim : c.into)
    exprs.push_back(getAffineDimExpr(dim, rewriter.getContext()));
  return AffineMap::get(numDims, 0, exprs, rewriter.getContext());
}

SmallVector<Value> Rewriter::makeInits() {
  SmallVector<OpFoldResult> extents =
      getExtents(rewriter, cast<IndexProgramOpInterface>(*cascade));
  SmallVector<Value> inits;
  for (const Component &c : d.components) {
    SmallVector<OpFoldResult> sizes;
    for (int64_t dim : c.into)
      sizes.push_back(extents[dim]);
    Value empty = tensor::EmptyOp::create(rewriter, loc, sizes, c.type);
    Value identity = arith::ConstantOp::create(rewriter, loc, c.identity);
    inits.push_back(linalg::FillOp::create(rewriter, loc, ValueRange{identity},
                                           ValueRange{empty})
                        .getResult(0));
  }
  return inits;
}

//===----------------------------------------------------------------------===//
// Step and merge
//===----------------------------------------------------------------------===//

Rewriter::Relative Rewriter::relativeTo(BodyBuilder &bb, const State &state) {
  Relative result;
  SmallVector<Value> exponents;
  for (const PivotedExponential &e : d.exponentials) {
    if (!e.isUsed) {
      exponents.push_back({});
      result.exponentials.push_back({});
      continue;
    }
    Value pivot = safePivot(bb, bb.cast(state[e.pivot], e.type));
    exponents.push_back(bb.sub(bb.sum({}, e.data, e.type), pivot));
    result.exponentials.push_back(bb.exp(exponents.back(), e.isBase2));
  }
  for (const DifferencePivot &p : d.pivots) {
    Value difference;
    if (p.isUsed && p.exponential) {
      difference = exponents[*p.exponential];
      for (auto [index, coefficient] : p.others) {
        const PivotedExponential &e = d.exponentials[index];
        Value pivot = safePivot(bb, bb.cast(state[e.pivot], e.type));
        Value other = bb.sub(bb.sum({}, e.data, e.type), pivot);
        difference = coefficient < 0 ? bb.sub(difference, other)
                                     : bb.add(difference, other);
      }
    } else if (p.isUsed)
      difference = bb.sub(bb.sum({}, p.data, p.type), state[p.component]);
    result.differences.push_back(difference);
  }
  return result;
}

Value Rewriter::contribution(BodyBuilder &bb, const Component &c,
                             const Relative &relative) {
  Value start;
  if (!c.terms.empty())
    start = bb.sum({}, c.terms, c.type);
  if (c.exponential)
    start = bb.cast(relative.exponentials[*c.exponential], c.type);
  for (auto [pivot, power] : c.powers) {
    Value difference = bb.cast(relative.differences[pivot], c.type);
    for (int i = 0; i < power; ++i)
      start = start ? bb.mul(start, difference) : difference;
  }
  if (c.reducer == Reducer::Or && !c.masks.empty())
    return bb.holds(c.masks);
  Value result = bb.product(start, c.data, 1, c.type);
  for (auto [predicate, side] : c.masks) {
    Value identity = bb.constant(c.identity);
    Value p = bb.get(predicate);
    result =
        side ? bb.select(p, result, identity) : bb.select(p, identity, result);
  }
  return result;
}

ReduceOp Rewriter::reduceSegment(BodyBuilder &bb, const Component &c,
                                 ValueRange values) {
  if (c.joint && c.reducer == Reducer::Declared)
    return createReduce(bb.b, loc, cast<CombiningOpInterface>(c.joint), values,
                        c.over, c.into);
  auto reduce = ReduceOp::create(bb.b, loc, c.reducer, values, c.over, c.into);
  if (c.narrowed)
    reduce->setAttr(kNarrowedAttr, TypeAttr::get(c.narrowed));
  return reduce;
}

SmallVector<Value> Rewriter::segmentOf(BodyBuilder &bb, const Component &c,
                                       const Relative &relative) {
  SmallVector<Value> elements;
  if (c.joint)
    for (Value element : c.elements)
      elements.push_back(bb.get(element));
  else if (auto n = isCount(c) ? roles.getCount(c.over) : std::nullopt;
           n && isWhole)
    return {bb.constant(*n, c.type)};
  else
    elements.push_back(contribution(bb, c, relative));
  ReduceOp segment = reduceSegment(bb, c, elements);
  return llvm::to_vector_of<Value>(segment.getResults());
}

ArrayRef<Value> Rewriter::jointOf(unsigned first, ArrayRef<Value> state) const {
  return state.slice(first, d.components[first].joint->getNumOperands());
}

void Rewriter::mapScans(BodyBuilder &bb, const State &before) {
  for (const RunningStage &running : d.scans) {
    ScanOp scan = running.scan;
    SmallVector<Value> prefixes;
    for (Value v : scan.getOperands())
      prefixes.push_back(bb.get(v));
    IRMapping operands;
    operands.map(scan.getOperands(), prefixes);
    auto segment = cast<ScanOp>(bb.b.clone(*scan.getOperation(), operands));
    if (scan.isDeclared())
      prefixes = bb.continueJoint(d.components[running.first],
                                  jointOf(running.first, before),
                                  segment.getResults());
    else
      prefixes = {bb.combine(scan.getReducer(), before[running.first],
                             segment.getResult(0))};
    for (auto [from, to] : llvm::zip_equal(scan.getResults(), prefixes))
      bb.map(roles.canonical(from), to);
  }
}

Value Rewriter::segmentMean(BodyBuilder &bb, const Component &c) {
  // 0 where it is not finite, so that infinite data meets the same operations as
  // in the source.
  const DifferencePivot &p = d.pivots[*c.kept];
  const Component &weight = d.components[p.weight];
  Value data = bb.product(bb.sum({}, p.data, p.type), p.weights, 1, p.type);
  Value sum = reduceSegment(bb, c, data).getResult(0);
  Value mean = bb.div(sum, bb.cast(segmentOf(bb, weight, {})[0], p.type));
  return bb.select(bb.isFinite(mean), mean, bb.constant(0, p.type));
}

Value Rewriter::keptPivot(BodyBuilder &bb, const Component &c, Value before,
                          Value weightBefore) {
  const DifferencePivot &p = d.pivots[*c.kept];
  const Component &weight = d.components[p.weight];
  Value mean = segmentMean(bb, c);
  // Of segments of equal weights the first one counts.
  Value isLater = p.weights.empty()
                      ? bb.isEqual(weightBefore, 0)
                      : bb.isAbove(segmentOf(bb, weight, {})[0], weightBefore);
  return bb.select(isLater, mean, before);
}

Value Rewriter::lazyPivot(BodyBuilder &bb, unsigned index, Value before,
                          Value maximum) {
  // Headroom in the units of the exponent. From -inf it always follows.
  bool isBase2 = llvm::any_of(d.exponentials, [&](const PivotedExponential &e) {
    return e.pivot == index && e.isBase2;
  });
  double headroom = isBase2 ? d.lazy : d.lazy * std::log(2.0);
  Value isAhead = bb.isAbove(bb.sub(maximum, before),
                             bb.constant(headroom, before.getType()));
  return bb.select(isAhead, maximum, before);
}

Rewriter::Transport Rewriter::transport(BodyBuilder &bb, const State &from,
                                        const State &to, bool isMerge) {
  Transport result;
  SmallVector<Value> exponents;
  for (const PivotedExponential &e : d.exponentials) {
    if (!e.isUsed) {
      exponents.push_back({});
      result.scales.push_back({});
      continue;
    }
    Value before = bb.cast(from[e.pivot], e.type);
    Value after = safePivot(bb, bb.cast(to[e.pivot], e.type));
    // A state that saw nothing but -inf has the pivot -inf: its scale is 0.
    exponents.push_back(bb.sub(before, after));
    result.scales.push_back(bb.exp(exponents.back(), e.isBase2));
  }
  for (const DifferencePivot &p : d.pivots) {
    Value move;
    if (p.isUsed && p.exponential) {
      // Where the scale is 0 the whole entry is: never 0 * infinity.
      Value scale = result.scales[*p.exponential];
      move = bb.select(bb.isEqual(scale, 0), bb.constant(0, scale.getType()),
                       exponents[*p.exponential]);
      for (auto [index, coefficient] : p.others) {
        unsigned other = d.exponentials[index].pivot;
        Value before = safePivot(bb, bb.cast(from[other], p.type));
        Value after = safePivot(bb, bb.cast(to[other], p.type));
        Value step = bb.sub(before, after);
        move = coefficient < 0 ? bb.sub(move, step) : bb.add(move, step);
      }
    } else if (p.isUsed && (isMerge || !p.weights.empty())) {
      // The pivot of an empty state says nothing.
      Value difference = bb.sub(from[p.component], to[p.component]);
      move = bb.select(bb.isEqual(from[p.count.value_or(p.weight)], 0),
                       bb.constant(0, p.type), difference);
    }
    result.moves.push_back(move);
  }
  return result;
}

/// The number of ways to choose `k` of `n`.
static double choose(int n, int k) {
  double result = 1;
  for (int i = 1; i <= k; ++i)
    result = result * (n - k + i) / i;
  return result;
}

Value Rewriter::expanded(BodyBuilder &bb, unsigned index, unsigned position,
                         const State &from, const Transport &transport) {
  const Component &c = d.components[index];
  if (position >= c.powers.size())
    return from[index];
  auto [pivot, power] = c.powers[position];
  if (!transport.moves[pivot])
    return expanded(bb, index, position + 1, from, transport);
  // sum (y + move)^n = sum of choose(n, k) * move^(n-k) * sum y^k
  Value result, ends;
  Value move = bb.cast(transport.moves[pivot], c.type);
  for (int k = power; k >= 0; --k) {
    unsigned lower = *findLowerPower(d, index, pivot, k);
    Value v =
        expanded(bb, lower, k > 0 ? position + 1 : position, from, transport);
    v = bb.cast(v, c.type);
    for (int i = k; i < power; ++i)
      v = bb.mul(v, move);
    if (choose(power, k) != 1)
      v = bb.mul(v, bb.constant(choose(power, k), c.type));
    result = result ? bb.add(result, v) : v;
    if (k == power || k == 0)
      ends = ends ? bb.add(ends, v) : v;
  }
  // Where powers overflow, those between are the same infinity with any sign.
  if (power > 1)
    result = bb.select(bb.isFinite(result), result, ends);
  // Where a kept pivot stays there is nothing to add: not 0 times what is
  // infinite.
  if (!d.pivots[pivot].exponential) {
    Value stays = expanded(bb, index, position + 1, from, transport);
    result = bb.select(bb.isEqual(move, 0), stays, result);
  }
  return result;
}

Value Rewriter::transported(BodyBuilder &bb, unsigned index, const State &from,
                            const Transport &transport) {
  const Component &c = d.components[index];
  Value result = expanded(bb, index, 0, from, transport);
  if (!c.exponential)
    return result;
  Value scale = bb.cast(transport.scales[*c.exponential], c.type);
  Value scaled = bb.mul(result, scale);
  if (c.reducer == Reducer::Add)
    return scaled;
  // The identity of max and min is infinite.
  return bb.select(bb.isEqual(scale, 0), bb.constant(c.identity), scaled);
}

State Rewriter::afterSegment(BodyBuilder &bb, const State &before) {
  State next(d.components.size());
  for (auto [i, c] : llvm::enumerate(d.components)) {
    if (isRelative(c) || c.member != 0 || c.kept || c.lazyOf)
      continue;
    SmallVector<Value> segment = segmentOf(bb, c, {});
    if (c.joint && !isWhole)
      segment = bb.continueJoint(c, jointOf(i, before), segment);
    else if (!isWhole)
      segment[0] = bb.combine(c.reducer, before[i], segment[0]);
    llvm::copy(segment, next.begin() + i);
  }
  for (auto [i, c] : llvm::enumerate(d.components))
    if (c.kept)
      next[i] = isWhole ? segmentMean(bb, c)
                        : keptPivot(bb, c, before[i],
                                    before[d.pivots[*c.kept].weight]);
  for (auto [i, c] : llvm::enumerate(d.components))
    if (c.lazyOf)
      next[i] = isWhole ? next[*c.lazyOf]
                        : lazyPivot(bb, i, before[i], next[*c.lazyOf]);
  Transport toNext;
  if (!isWhole)
    toNext = transport(bb, before, next, /*isMerge=*/false);
  Relative relative = relativeTo(bb, next);
  for (auto [i, c] : llvm::enumerate(d.components)) {
    if (!isRelative(c))
      continue;
    Value segment = segmentOf(bb, c, relative)[0];
    next[i] = isWhole ? segment
                      : bb.combine(c.reducer,
                                   transported(bb, i, before, toNext), segment);
  }
  for (auto assertion : body.getOps<cf::AssertOp>())
    if (roles[assertion.getArg()] == Role::Data)
      bb.assertThat(assertion);
  return next;
}

State Rewriter::mapArguments(BodyBuilder &bb, Block &block) {
  for (BlockArgument arg : body.getArguments())
    bb.map(arg, block.getArgument(arg.getArgNumber()));
  return llvm::to_vector_of<Value>(
      block.getArguments().drop_front(body.getNumArguments()));
}

void Rewriter::buildStep(Block &step) {
  BodyBuilder bb(body, step, roles, loc);
  State state = mapArguments(bb, step);
  State next = afterSegment(bb, state);
  mapScans(bb, state);
  auto yield = cast<YieldOp>(body.getTerminator());
  for (unsigned i : d.outputs)
    next.push_back(bb.get(yield.getValues()[i]));
  // What holds of a prefix is known where the prefix is.
  for (auto assertion : body.getOps<cf::AssertOp>())
    if (roles.isRunning(assertion.getArg()))
      bb.assertThat(assertion);
  YieldOp::create(bb.b, loc, next);
  simplifyBody(step);
}

void Rewriter::buildMerge(Block &merge) {
  BodyBuilder bb(body, merge, roles, loc);
  unsigned n = d.components.size();
  State left, right, next(n);
  for (unsigned i = 0; i < n; ++i) {
    left.push_back(merge.getArgument(i));
    right.push_back(merge.getArgument(n + i));
  }
  for (auto [i, c] : llvm::enumerate(d.components)) {
    if (isRelative(c) || c.member != 0)
      continue;
    if (c.joint)
      llvm::copy(bb.combineJoint(c, jointOf(i, left), jointOf(i, right)),
                 next.begin() + i);
    else if (c.kept) {
      unsigned weight = d.pivots[*c.kept].weight;
      next[i] =
          bb.select(bb.isAbove(right[weight], left[weight]), right[i], left[i]);
    } else
      next[i] = bb.combine(c.reducer, left[i], right[i]);
  }
  Transport fromLeft = transport(bb, left, next, /*isMerge=*/true);
  Transport fromRight = transport(bb, right, next, /*isMerge=*/true);
  for (auto [i, c] : llvm::enumerate(d.components)) {
    if (!isRelative(c))
      continue;
    Value a = transported(bb, i, left, fromLeft);
    Value b = transported(bb, i, right, fromRight);
    next[i] = bb.combine(c.reducer, a, b);
  }
  YieldOp::create(bb.b, loc, next);
  simplifyBody(merge);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

SmallVector<unsigned> Rewriter::pruneInputs(Block &block, SmallBitVector dims,
                                            ArrayRef<AffineMap> otherMaps) {
  unsigned numInputs = cascade.getInputs().size();
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  // Dims whose extent an operand has: an index of it is the dim alone.
  SmallBitVector given(dims.size()), keep(numInputs);
  auto give = [&](AffineMap map) {
    for (AffineExpr e : map.getResults())
      if (auto dim = dyn_cast<AffineDimExpr>(e))
        given.set(dim.getPosition());
  };
  // Dims in expressions need an extent, too.
  auto keepInput = [&](unsigned i) {
    keep.set(i);
    dims |= getDimsOf(maps[i]);
    give(maps[i]);
  };
  for (AffineMap map : otherMaps)
    give(map);
  for (unsigned i = 0; i < numInputs; ++i)
    if (!block.getArgument(i).use_empty())
      keepInput(i);
  for (bool changed = true; changed;) {
    changed = false;
    for (unsigned i = 0; i < numInputs; ++i) {
      SmallBitVector before = given;
      give(maps[i]);
      SmallBitVector more = given;
      given = before;
      more.reset(before);
      more &= dims;
      if (keep.test(i) || more.none())
        continue;
      keepInput(i);
      changed = true;
    }
  }
  SmallVector<unsigned> kept;
  for (unsigned i : keep.set_bits())
    kept.push_back(i);
  for (unsigned i = numInputs; i-- > 0;)
    if (!keep.test(i))
      block.eraseArgument(i);
  return kept;
}

std::unique_ptr<Block> Rewriter::makeBlock(TypeRange first, TypeRange second) {
  auto block = std::make_unique<Block>();
  for (Type t : first)
    block->addArgument(t, loc);
  for (Type t : second)
    block->addArgument(t, loc);
  return block;
}

/// The fold, and which of the cascade's inputs its step reads.
FoldOp Rewriter::makeFold(SmallVectorImpl<unsigned> &read) {
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  SmallVector<AffineMap> resultMaps, foldMaps;
  SmallVector<Type> stateTypes;
  SmallVector<Attribute> identities;
  SmallBitVector dims(numDims);
  for (const Component &c : d.components) {
    stateTypes.push_back(c.type);
    resultMaps.push_back(stateMap(c));
    identities.push_back(c.identity);
    dims |= toDimSet(c.over, numDims);
    dims |= toDimSet(c.into, numDims);
  }
  std::unique_ptr<Block> step = makeBlock(body.getArgumentTypes(), stateTypes);
  std::unique_ptr<Block> merge = makeBlock(stateTypes, stateTypes);
  buildStep(*step);
  buildMerge(*merge);
  // Reductions over other dims inside the step need their extents as well.
  step->walk(
      [&](ReduceOp reduce) { dims |= toDimSet(reduce.getOver(), numDims); });
  SmallVector<Value> inits = makeInits(), inputs;
  for (unsigned i : d.outputs) {
    inits.push_back(cascade.getInits()[i]);
    resultMaps.push_back(maps[cascade.getInputs().size() + i]);
  }
  read = pruneInputs(*step, dims, resultMaps);
  for (unsigned i : read) {
    inputs.push_back(cascade.getInputs()[i]);
    foldMaps.push_back(maps[i]);
  }
  llvm::append_range(foldMaps, resultMaps);
  auto fold = FoldOp::create(
      rewriter, loc,
      llvm::map_to_vector(inits, [](Value v) { return v.getType(); }), inputs,
      inits, rewriter.getAffineMapArrayAttr(foldMaps), d.over,
      rewriter.getArrayAttr(identities), makeCertificate(cascade, d),
      cascade.getScheduleAttr());
  fold.getStep().push_back(step.release());
  fold.getMerge().push_back(merge.release());
  return fold;
}

/// What makes the other results from the state, of which it takes what it uses.
FinalizeOp Rewriter::makeFinalize(FoldOp fold,
                                  SmallVectorImpl<unsigned> &read) {
  SmallVector<AffineMap> maps = cascade.getIndexingMapsArray();
  unsigned numInputs = cascade.getInputs().size();
  SmallVector<Type> stateTypes = llvm::map_to_vector(
      d.components, [](const Component &c) { return c.type; });
  std::unique_ptr<Block> last = makeBlock(body.getArgumentTypes(), stateTypes);
  buildFinalize(*last);

  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> inputMaps, initMaps;
  for (auto [i, init] : llvm::enumerate(cascade.getInits())) {
    if (llvm::is_contained(d.outputs, i))
      continue;
    inits.push_back(init);
    initMaps.push_back(maps[numInputs + i]);
  }
  SmallVector<unsigned> used;
  for (unsigned i = 0; i < stateTypes.size(); ++i)
    if (!last->getArgument(numInputs + i).use_empty())
      used.push_back(i);
  for (unsigned i = stateTypes.size(); i-- > 0;)
    if (!llvm::is_contained(used, i))
      last->eraseArgument(numInputs + i);
  SmallBitVector dims(numDims);
  last->walk(
      [&](ReduceOp reduce) { dims |= toDimSet(reduce.getOver(), numDims); });
  SmallVector<AffineMap> otherMaps = initMaps;
  for (unsigned i : used)
    otherMaps.push_back(stateMap(d.components[i]));
  read = pruneInputs(*last, dims, otherMaps);
  for (unsigned i : read) {
    inputs.push_back(cascade.getInputs()[i]);
    inputMaps.push_back(maps[i]);
  }
  for (unsigned i : used) {
    inputs.push_back(fold.getResult(i));
    inputMaps.push_back(stateMap(d.components[i]));
  }
  llvm::append_range(inputMaps, initMaps);
  auto finalize =
      FinalizeOp::create(rewriter, loc, ValueRange(inits).getTypes(), inputs,
                         inits, rewriter.getAffineMapArrayAttr(inputMaps));
  finalize.getBody().push_back(last.release());
  return finalize;
}

/// Says in the certificate which of the cascade's inputs and results the two ops have.
void Rewriter::recordReads(FoldOp fold, ArrayRef<unsigned> inStep,
                           ArrayRef<unsigned> inFinalize) {
  SmallVector<NamedAttribute> reads;
  auto add = [&](StringRef of, char letter, ArrayRef<unsigned> numbers) {
    SmallVector<Attribute> names;
    for (unsigned i : numbers)
      names.push_back(rewriter.getStringAttr(Twine(letter) + Twine(i)));
    reads.push_back(rewriter.getNamedAttr(of, rewriter.getArrayAttr(names)));
  };
  NamedAttrList certificate(fold.getCertificateAttr());
  add("step", 'x', inStep);
  add("finalise", 'x', inFinalize);
  if (!d.outputs.empty())
    add("outputs", 'y', d.outputs);
  certificate.set("reads", rewriter.getDictionaryAttr(reads));
  fold.setCertificateAttr(certificate.getDictionary(rewriter.getContext()));
}

FoldAndFinalize Rewriter::run() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(cascade);
  SmallVector<unsigned> inStep, inFinalize;
  FoldOp fold = makeFold(inStep);
  SmallVector<Value> results(cascade->getNumResults());
  for (auto [k, i] : llvm::enumerate(d.outputs))
    results[i] = fold.getResult(d.components.size() + k);
  FinalizeOp finalize;
  if (d.outputs.size() < results.size())
    finalize = makeFinalize(fold, inFinalize);
  recordReads(fold, inStep, inFinalize);
  unsigned next = 0;
  for (Value &result : results)
    if (!result)
      result = finalize.getResult(next++);
  rewriter.replaceOp(cascade, results);
  return {fold, finalize};
}

CascadeOp Rewriter::runWhole() {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(cascade);
  isWhole = true;
  auto block = std::make_unique<Block>();
  for (BlockArgument arg : body.getArguments())
    block->addArgument(arg.getType(), arg.getLoc());
  BodyBuilder first(body, *block, roles, loc), last(body, *block, roles, loc);
  mapArguments(first, *block);
  State state = afterSegment(first, {});
  mapArguments(last, *block);
  YieldOp::create(last.b, loc, finalised(last, state));
  simplifyBody(*block);
  auto made = CascadeOp::create(rewriter, loc, cascade->getResultTypes(),
                                cascade.getInputs(), cascade.getInits(),
                                cascade.getIndexingMapsAttr(),
                                cascade.getScheduleAttr());
  made.getBody().push_back(block.release());
  rewriter.replaceOp(cascade, made.getResults());
  return made;
}

CascadeOp redfuse::rewriteWhole(RewriterBase &rewriter, CascadeOp cascade,
                                const Derivation &derivation) {
  FailureOr<Roles> roles =
      Roles::compute(cast<IndexProgramOpInterface>(*cascade), derivation.over);
  assert(succeeded(roles) && "the cascade changed since it was analysed");
  return Rewriter(rewriter, cascade, derivation, *roles).runWhole();
}

FoldAndFinalize redfuse::rewrite(RewriterBase &rewriter, CascadeOp cascade,
                                 const Derivation &derivation) {
  FailureOr<Roles> roles =
      Roles::compute(cast<IndexProgramOpInterface>(*cascade), derivation.over);
  assert(succeeded(roles) && "the cascade changed since it was analysed");
  return Rewriter(rewriter, cascade, derivation, *roles).run();
}
