//===- Raise.cpp - linalg.generic becomes redfuse.cascade -----------------===//
#include "RaiseTopk.h"
#include "Raiser.h"
#include "redfuse/Transforms/Raise/RaiseAffine.h"

#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/Redfuse/Utils/KernelInfo.h"
#include "redfuse/Dialect/Redfuse/Utils/Refusal.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace redfuse {
#define GEN_PASS_DEF_RAISE
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using namespace redfuse;

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

SmallVector<Value>
Raiser::combineAlong(OpBuilder &b, Location loc, Reach reach, Reducer reducer,
                     ValueRange operands, ArrayAttr identities, bool isOrdered,
                     function_ref<void(Region &)> declaration) {
  Operation *made;
  if (reach == Reach::All) {
    auto reduce = ReduceOp::create(b, loc, reducer, operands, reductionDims,
                                   parallelDims);
    reduce.setIdentitiesAttr(identities);
    reduce.setOrdered(isOrdered);
    made = reduce;
  } else {
    made = ScanOp::create(b, loc, operands.getTypes(), reducer, operands,
                          reductionDims.front(), reach == Reach::Exclusive,
                          identities, isOrdered);
  }
  if (declaration)
    declaration(made->getRegion(0));
  return llvm::to_vector_of<Value>(made->getResults());
}

Value Raiser::isFirstElement(OpBuilder &b, Location loc) {
  Value isFirst;
  for (int64_t d : reductionDims) {
    Value at =
        IndexOp::create(b, loc, b.getIndexType(), b.getI64IntegerAttr(d));
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value here =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, at, zero);
    isFirst = isFirst ? arith::AndIOp::create(b, loc, isFirst, here) : here;
  }
  return isFirst;
}

/// h = a*h + b as the composition of the maps (a, b), in order. The initial
/// value goes into the first element, and the result is the second component:
/// it is computed by just the operations of the source, and the product of all
/// a, which can leave the type's range on its own, is needed for merges alone.
Value Raiser::buildAffine(unsigned k, Reach reach, OpBuilder &b, Location loc) {
  AffineForm form =
      buildAffineForm(b, loc, yielded(k), outArgument(k), dependent, mapping);
  Type type = outArgument(k).getType();
  auto constant = [&](Type t, double value) -> Value {
    TypedAttr attr = isa<FloatType>(t)
                         ? TypedAttr(b.getFloatAttr(t, value))
                         : TypedAttr(b.getIntegerAttr(t, int64_t(value)));
    return arith::ConstantOp::create(b, loc, attr);
  };
  Value init = initScalars[k];
  if (!form.scale) { // A sum after all.
    Value sum = combineAlong(b, loc, reach, Reducer::Add,
                             form.offset ? form.offset : constant(type, 0))[0];
    return init ? createCombiner(b, loc, Reducer::Add, init, sum) : sum;
  }
  // Narrow floats are accumulated in f32, like sums.
  auto narrow = dyn_cast<FloatType>(type);
  bool isNarrow = narrow && narrow.getWidth() < 32;
  Type wide = isNarrow ? b.getF32Type() : type;
  auto widen = [&](Value v) -> Value {
    return isNarrow ? arith::ExtFOp::create(b, loc, wide, v).getResult() : v;
  };
  Value scale = widen(form.scale);
  Value offset = form.offset ? widen(form.offset) : constant(wide, 0);
  Value start = init ? widen(init) : constant(wide, 0);
  APFloat known(0.0);
  bool isFinite =
      !isa<FloatType>(type) ||
      (matchPattern(form.scale, m_ConstantFloat(&known)) && known.isFinite());
  SmallVector<Value> elements{scale, offset};
  if (form.keeps)
    elements.push_back(widen(form.keeps));
  if (init || !isFinite) {
    Value moved = createCombiner(b, loc, Reducer::Mul, scale, start);
    Value first = createCombiner(b, loc, Reducer::Add, moved, offset);
    if (form.keeps) {
      Value isReset = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ,
                                            elements[2], constant(wide, 0));
      first = arith::SelectOp::create(b, loc, isReset, offset, first);
    }
    Value isFirst = isFirstElement(b, loc);
    elements[1] = arith::SelectOp::create(b, loc, isFirst, first, offset);
    // Nothing comes before it. One that leaves a start of 0 as it is would
    // else be taken for the identity, and what follows it not be multiplied.
    if (!isFinite)
      elements[0] =
          arith::SelectOp::create(b, loc, isFirst, constant(wide, 0), scale);
  }
  SmallVector<Attribute> identities;
  for (int64_t value : {1, 0, 1})
    identities.push_back(isa<FloatType>(wide)
                             ? Attribute(b.getFloatAttr(wide, value))
                             : b.getIntegerAttr(wide, value));
  identities.resize(elements.size());
  Value result = combineAlong(
      b, loc, reach, Reducer::Declared, elements, b.getArrayAttr(identities),
      /*isOrdered=*/true, [&](Region &region) {
        buildAffineComposition(b, loc, region, wide, isFinite,
                               bool(form.keeps));
      })[1];
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  bool mayBeEmpty = llvm::any_of(reductionDims, [&](int64_t d) {
    return ShapedType::isDynamic(extents[d]) || extents[d] == 0;
  });
  // Before the first element there is nothing but the initial value.
  if (init && reach == Reach::Exclusive)
    result =
        arith::SelectOp::create(b, loc, isFirstElement(b, loc), start, result);
  if (init && reach == Reach::All && mayBeEmpty) {
    Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
    Value any = combineAlong(b, loc, Reach::All, Reducer::Or, yes)[0];
    result = arith::SelectOp::create(b, loc, any, result, start);
  }
  if (isNarrow)
    result = arith::TruncFOp::create(b, loc, type, result);
  return result;
}

/// All accumulators of a declared reducer, at once.
void Raiser::buildDeclared(unsigned k, Reach reach, OpBuilder &b,
                           Location loc) {
  CombineOp combine = accumulations[k].combine;
  SmallVector<Value> elements = llvm::map_to_vector(
      combine.getRight(), [&](Value v) { return mapping.lookupOrDefault(v); });
  auto clone = [&](Region &region) {
    IRMapping none;
    combine.getCombine().cloneInto(&region, none);
  };
  SmallVector<Value> results =
      combineAlong(b, loc, reach, Reducer::Declared, elements,
                   combine.getIdentities(), combine.getOrdered(), clone);
  SmallVector<Value> inits;
  bool hasInit = false;
  for (auto [left, identity] :
       llvm::zip_equal(combine.getLeft(), combine.getIdentities())) {
    unsigned i = 0;
    while (outArgument(i) != left)
      ++i;
    hasInit |= static_cast<bool>(initScalars[i]);
    inits.push_back(initScalars[i] ? initScalars[i]
                                   : arith::ConstantOp::create(
                                         b, loc, cast<TypedAttr>(identity)));
  }
  if (hasInit)
    results = inlineCombiner(b, combine.getCombine(), inits, results);
  for (auto [left, result] : llvm::zip_equal(combine.getLeft(), results))
    accumulated[{left, int(reach)}] = result;
}

Value Raiser::buildTotal(unsigned k, OpBuilder &b, Location loc) {
  Value total;
  // The terms were collected from the yield inwards.
  for (const Contribution &t : llvm::reverse(accumulations[k].terms)) {
    Value v = mapping.lookupOrDefault(t.value);
    if (t.factor) {
      v = arith::MulFOp::create(b, loc, v, mapping.lookupOrDefault(t.factor));
    } else if (t.negate && isa<FloatType>(v.getType())) {
      v = arith::NegFOp::create(b, loc, v);
    } else if (t.negate) {
      Value zero =
          arith::ConstantOp::create(b, loc, b.getZeroAttr(v.getType()));
      v = arith::SubIOp::create(b, loc, zero, v);
    }
    total =
        total ? createCombiner(b, loc, accumulations[k].reducer, total, v) : v;
  }
  return total;
}

/// A value and its index; `values` gets both. The reduction finds the best number and
/// where it is first; it counts where it beats the initial value, which a NaN does
/// not. Where NaN counts, its place is a reduction of its own.
Value Raiser::buildArgument(unsigned k, OpBuilder &b,
                            SmallVectorImpl<Value> &values) {
  Accumulation &acc = accumulations[k];
  Location loc = yielded(k).getLoc();
  Value element = mapping.lookupOrDefault(acc.terms[0].value);
  auto reduce = ReduceOp::create(
      b, loc, acc.reducer,
      ValueRange{element, mapping.lookupOrDefault(acc.terms[1].value)},
      reductionDims, parallelDims);
  Value value = reduce.getResult(0);
  Value first = initScalars[k], start = initScalars[*acc.indexResult];
  bool isMax = acc.reducer == Reducer::ArgMax;
  Value beats;
  if (isa<FloatType>(value.getType()))
    beats = arith::CmpFOp::create(
        b, loc, isMax ? arith::CmpFPredicate::OGT : arith::CmpFPredicate::OLT,
        value, first);
  else
    beats = arith::CmpIOp::create(
        b, loc, isMax ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::slt,
        value, first);
  Value index =
      arith::SelectOp::create(b, loc, beats, reduce.getResult(1), start);
  if (acc.indexOfNaN != IndexOfNaN::Ignored) {
    bool isFirst = acc.indexOfNaN == IndexOfNaN::First;
    Value own = mapping.lookupOrDefault(acc.terms[1].value);
    unsigned width = own.getType().getIntOrFloatBitWidth();
    Value none = arith::ConstantOp::create(
        b, loc,
        b.getIntegerAttr(own.getType(), isFirst
                                            ? APInt::getSignedMaxValue(width)
                                            : APInt::getSignedMinValue(width)));
    Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO,
                                        element, element);
    Value found = combineAlong(
        b, loc, Reach::All, isFirst ? Reducer::MinSI : Reducer::MaxSI,
        arith::SelectOp::create(b, loc, isNaN, own, none).getResult())[0];
    Value exists =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, found, none);
    index = arith::SelectOp::create(b, loc, exists, found, index);
  }
  values[*acc.indexResult] = index;
  // The extremum itself may hand a NaN on.
  bool handsNaNOn = llvm::is_contained({Reducer::MaximumF, Reducer::MinimumF},
                                       acc.valueReducer);
  if (!handsNaNOn || op->getResult(k).use_empty())
    return values[k] = arith::SelectOp::create(b, loc, beats, value, first);
  value = combineAlong(b, loc, Reach::All, acc.valueReducer, element)[0];
  if (!fillIsIdentity(k, acc.valueReducer))
    value = createCombiner(b, loc, acc.valueReducer, first, value);
  return values[k] = value;
}

Value Raiser::buildAccumulated(unsigned k, Reach reach, OpBuilder &b) {
  Value &known = accumulated[{outArgument(k), int(reach)}];
  if (known)
    return known;
  Accumulation &acc = accumulations[k];
  Location loc = yielded(k).getLoc();
  if (isa<UnknownLoc>(loc)) // the body of a named op that was generalised
    loc = op.getLoc();
  if (acc.combine) {
    buildDeclared(k, reach, b, loc);
    return accumulated.lookup({outArgument(k), int(reach)});
  }
  Value result;
  if (acc.isAffine) {
    result = buildAffine(k, reach, b, loc);
  } else {
    result = combineAlong(b, loc, reach, acc.reducer, buildTotal(k, b, loc))[0];
    if (initScalars[k])
      result = createCombiner(b, loc, acc.reducer, initScalars[k], result);
  }
  return accumulated[{outArgument(k), int(reach)}] = result;
}

Value Raiser::buildRunning(Value v, OpBuilder &b) {
  if (!dependent.contains(v))
    return mapping.lookupOrDefault(v);
  for (unsigned k = 0; k < op.getNumDpsInits(); ++k) {
    if (isPrefix(k))
      continue;
    if (yielded(k) == v)
      return buildAccumulated(k, Reach::Inclusive, b);
    if (outArgument(k) == v)
      return buildAccumulated(k, Reach::Exclusive, b);
  }
  if (Value known = running.lookup(v))
    return known;
  Operation *def = v.getDefiningOp();
  IRMapping operands;
  for (Value operand : def->getOperands())
    operands.map(operand, buildRunning(operand, b));
  Operation *clone = b.clone(*def, operands);
  for (auto [from, to] : llvm::zip(def->getResults(), clone->getResults()))
    running[from] = to;
  return running.lookup(v);
}

/// An empty tensor of the type of init `k`.
Value Raiser::buildInit(unsigned k) {
  Value init = op.getDpsInitOperand(k)->get();
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    init = fill.getOutputs().front();
  if (init.getDefiningOp<tensor::EmptyOp>())
    return init;
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(init.getType());
  Value empty = tensor::EmptyOp::create(
      rewriter, loc, tensor::getMixedSizes(rewriter, loc, init),
      type.getElementType());
  return empty.getType() == type
             ? empty
             : tensor::CastOp::create(rewriter, loc, type, empty);
}

CascadeOp Raiser::buildFrame() {
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  SmallVector<BlockArgument> readArguments;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument arg = op.getMatchingBlockArgument(operand);
    if (!isa<RankedTensorType>(operand->get().getType())) {
      mapping.map(arg, operand->get()); // a scalar: captured
      continue;
    }
    inputs.push_back(operand->get());
    maps.push_back(op.getMatchingIndexingMap(operand));
    readArguments.push_back(arg);
  }
  // Initial values that are read: a scalar where it was filled, else an input.
  initScalars.resize(op.getNumDpsInits());
  SmallVector<unsigned> initInputs;
  for (unsigned k = 0; k < op.getNumDpsInits(); ++k) {
    if (!needsInit(k) || (initScalars[k] = fillOf(k)))
      continue;
    initInputs.push_back(k);
    inputs.push_back(op.getDpsInitOperand(k)->get());
    maps.push_back(op.getMatchingIndexingMap(op.getDpsInitOperand(k)));
    readArguments.push_back(outArgument(k));
  }
  for (unsigned k = 0; k < op.getNumDpsInits(); ++k) {
    inits.push_back(buildInit(k));
    maps.push_back(op.getMatchingIndexingMap(op.getDpsInitOperand(k)));
  }
  auto cascade =
      CascadeOp::create(rewriter, op.getLoc(), op->getResultTypes(), inputs,
                        inits, rewriter.getAffineMapArrayAttr(maps),
                        /*schedule=*/nullptr);
  Block *block = rewriter.createBlock(&cascade.getBody());
  for (BlockArgument arg : readArguments)
    mapping.map(arg, block->addArgument(arg.getType(), arg.getLoc()));
  for (unsigned k : initInputs)
    initScalars[k] = mapping.lookup(outArgument(k));
  for (unsigned k = 0; k < op.getNumDpsInits(); ++k)
    if (initScalars[k])
      mapping.map(outArgument(k), initScalars[k]);
  return cascade;
}

void Raiser::buildBody() {
  for (Operation &inner : body.without_terminator()) {
    auto combine = dyn_cast<CombineOp>(inner);
    if (combine && reductionDims.empty()) { // One step, of a dim of extent 1.
      auto mapped = [&](ValueRange values) {
        return llvm::map_to_vector(
            values, [&](Value v) { return mapping.lookupOrDefault(v); });
      };
      mapping.map(combine.getResults(),
                  inlineCombiner(rewriter, combine.getCombine(),
                                 mapped(combine.getLeft()),
                                 mapped(combine.getRight())));
      continue;
    }
    if (combine || llvm::any_of(inner.getResults(),
                                [&](Value v) { return dependent.contains(v); }))
      continue;
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      mapping.map(index.getResult(),
                  Value(IndexOp::create(
                      rewriter, index.getLoc(), rewriter.getIndexType(),
                      rewriter.getI64IntegerAttr(index.getDim()))));
      continue;
    }
    Operation *copy = rewriter.clone(inner, mapping);
    if (op->hasAttr(kApproximateAttr))
      copy->setAttr(kApproximateAttr, rewriter.getUnitAttr());
  }
}

SmallVector<Value> Raiser::buildResults() {
  SmallVector<Value> results(op.getNumDpsInits());
  for (unsigned k = 0; k < op.getNumDpsInits(); ++k) {
    if (reductionDims.empty())
      results[k] = mapping.lookupOrDefault(yielded(k));
    else if (isPrefix(k))
      results[k] = buildRunning(yielded(k), rewriter);
    else if (accumulations[k].indexResult)
      buildArgument(k, rewriter, results);
    else if (!accumulations[k].isIndex)
      results[k] = buildAccumulated(k, Reach::All, rewriter);
  }
  return results;
}

/// A statement of a cascade is executed for the dims of its operands alone, and an
/// assertion of a generic at each of its points: where a dim that the condition
/// lacks is empty there is no point, and nothing to assert.
void Raiser::guardAssertions(CascadeOp cascade) {
  auto assertions =
      llvm::to_vector(cascade.getBody().front().getOps<cf::AssertOp>());
  if (assertions.empty())
    return;
  FailureOr<DimSets> dims = DimSets::compute(cascade);
  if (failed(dims))
    return;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(cascade);
  SmallVector<Value> isEmpty(extents.size()); // for dims that may be
  if (llvm::any_of(extents, [](int64_t n) { return n <= 0; })) {
    auto linalgOp = cast<linalg::LinalgOp>(op.getOperation());
    Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
    for (auto [d, range] :
         llvm::enumerate(linalgOp.createLoopRanges(rewriter, loc)))
      if (extents[d] <= 0) // kDynamic is negative
        isEmpty[d] = rewriter.createOrFold<arith::CmpIOp>(
            loc, arith::CmpIPredicate::sle,
            getValueOrCreateConstantIndexOp(rewriter, loc, range.size), zero);
  }
  for (cf::AssertOp assertion : assertions) {
    rewriter.setInsertionPoint(assertion);
    Value holds = assertion.getArg();
    const SmallBitVector &own = (*dims)[holds];
    for (auto [d, empty] : llvm::enumerate(isEmpty))
      if (empty && !own.test(d))
        holds =
            arith::OrIOp::create(rewriter, assertion.getLoc(), holds, empty);
    assertion.getArgMutable().assign(holds);
  }
}

CascadeOp Raiser::build() {
  rewriter.setInsertionPoint(op);
  CascadeOp cascade = buildFrame();
  Block &block = cascade.getBody().front();
  rewriter.setInsertionPointToEnd(&block);
  buildBody();
  YieldOp::create(rewriter, op.getLoc(), buildResults());
  guardAssertions(cascade);
  // What only the accumulator needed.
  for (Operation &inner : llvm::make_early_inc_range(llvm::reverse(block)))
    if (!isa<YieldOp>(inner) && isOpTriviallyDead(&inner))
      rewriter.eraseOp(&inner);
  rewriter.replaceOp(op, cascade);
  return cascade;
}

namespace {
struct RaisePass : public redfuse::impl::RaiseBase<RaisePass> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    SmallVector<linalg::FillOp> fills;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (auto fill = dyn_cast<linalg::FillOp>(op.getOperation()))
        fills.push_back(fill);
      else
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops) {
      auto generic = dyn_cast<linalg::GenericOp>(op.getOperation());
      if (!generic) {
        addRefusal(op, "not raised",
                   "'" + op->getName().getStringRef() +
                       "' is not a linalg.generic",
                   "run redfuse-normalize first");
        continue;
      }
      Reason why;
      if (failed(Raiser(generic, rewriter).run(why)))
        addRefusal(generic, why.condition, why.detail, why.remedy);
    }
    SmallVector<tm_tensor::TopkOp> topks;
    getOperation()->walk([&](tm_tensor::TopkOp op) { topks.push_back(op); });
    for (tm_tensor::TopkOp op : topks) {
      std::string detail, remedy;
      if (failed(raiseTopk(op, rewriter, detail, remedy)))
        addRefusal(op, "not raised", detail, remedy);
    }
    // Those that only said an identity.
    for (linalg::FillOp fill : llvm::reverse(fills))
      if (fill->use_empty() && fill->getNumResults() != 0)
        rewriter.eraseOp(fill);
  }
};
} // namespace
