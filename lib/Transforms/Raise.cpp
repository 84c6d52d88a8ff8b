//===- Raise.cpp - linalg.generic becomes redfuse.cascade -----------------===//
#include "RaiseTopk.h"

#include "redfuse/Analysis/DimSets.h"
#include "redfuse/Analysis/KernelInfo.h"
#include "redfuse/Analysis/Refusal.h"
#include "redfuse/Dialect/Redfuse.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

namespace {

/// Why a generic is not raised.
struct Reason {
  std::string condition, detail, remedy;
};

/// One contribution to an accumulation: `value`, `value * factor` where there is
/// a factor (a fused multiply-add), or minus `value`.
struct Term {
  Value value, factor;
  bool negate = false;
};

/// How one yielded value accumulates.
struct Accumulation {
  Reducer reducer = Reducer::Add;
  SmallVector<Term> terms;
  /// Written as compare and select: NaN is dropped, except in the initial value.
  bool bySelect = false;
  /// For argmax and argmin: the yielded value that holds the index.
  std::optional<unsigned> indexResult;
  /// This is that yielded value; another one describes it.
  bool isIndex = false;
};

/// A comparison `lhs > rhs` or `lhs < rhs`, however it was spelled.
struct Comparison {
  Value lhs, rhs;
  bool greater = false, orEqual = false, isUnsigned = false, isFloat = false;
  /// False where a NaN makes the comparison true.
  bool ordered = true;
  bool noNaN = false;
};

} // namespace

static std::optional<Comparison> matchComparison(Value v) {
  Comparison c;
  if (auto cmp = v.getDefiningOp<arith::CmpFOp>()) {
    c.lhs = cmp.getLhs();
    c.rhs = cmp.getRhs();
    c.isFloat = true;
    using P = arith::CmpFPredicate;
    P p = cmp.getPredicate();
    c.noNaN = bitEnumContainsAny(cmp.getFastmath(), arith::FastMathFlags::nnan);
    c.greater = p == P::OGT || p == P::OGE || p == P::UGT || p == P::UGE;
    bool less = p == P::OLT || p == P::OLE || p == P::ULT || p == P::ULE;
    if (!c.greater && !less)
      return std::nullopt;
    c.orEqual = p == P::OGE || p == P::UGE || p == P::OLE || p == P::ULE;
    c.ordered =
        c.noNaN || p == P::OGT || p == P::OGE || p == P::OLT || p == P::OLE;
    return c;
  }
  if (auto cmp = v.getDefiningOp<arith::CmpIOp>()) {
    c.lhs = cmp.getLhs();
    c.rhs = cmp.getRhs();
    using P = arith::CmpIPredicate;
    P p = cmp.getPredicate();
    c.isUnsigned = p == P::ugt || p == P::uge || p == P::ult || p == P::ule;
    c.greater = p == P::sgt || p == P::sge || p == P::ugt || p == P::uge;
    c.orEqual = p == P::sge || p == P::uge || p == P::sle || p == P::ule;
    if (p == P::eq || p == P::ne)
      return std::nullopt;
    return c;
  }
  return std::nullopt;
}

/// `select(a > out, a, out)` and its spellings: the value that competes and the
/// comparison as seen from it (`lhs` the competitor, `rhs` the accumulator).
static std::optional<Comparison> matchSelectAgainst(Value v, Value onTrue,
                                                    Value accumulator) {
  auto select = v.getDefiningOp<arith::SelectOp>();
  if (!select)
    return std::nullopt;
  std::optional<Comparison> c = matchComparison(select.getCondition());
  if (!c)
    return std::nullopt;
  bool flipped = c->lhs == accumulator;
  if (flipped) {
    std::swap(c->lhs, c->rhs);
    c->greater = !c->greater;
  }
  if (c->rhs != accumulator)
    return std::nullopt;
  // select(cmp, new, old); select(cmp, old, new) is the opposite comparison,
  // true exactly where that one is false: unordered for ordered.
  Value wanted = onTrue ? onTrue : c->lhs;
  if (select.getTrueValue() == wanted)
    return c;
  if (select.getFalseValue() == wanted) {
    c->greater = !c->greater;
    c->orEqual = !c->orEqual;
    if (c->isFloat && !c->noNaN)
      c->ordered = !c->ordered;
    return c;
  }
  return std::nullopt;
}

static Reducer extremum(const Comparison &c) {
  if (c.isFloat)
    return c.greater ? Reducer::MaxNumF : Reducer::MinNumF;
  if (c.isUnsigned)
    return c.greater ? Reducer::MaxUI : Reducer::MinUI;
  return c.greater ? Reducer::MaxSI : Reducer::MinSI;
}

/// Follows the chain of combiners from the yielded value `v` down to `out`.
static std::optional<Accumulation>
matchAccumulation(Value v, BlockArgument out,
                  const llvm::DenseSet<Value> &dependent) {
  Accumulation acc;
  std::optional<Reducer> reducer;
  auto agree = [&](Reducer r) {
    if (reducer && *reducer != r)
      return false;
    reducer = r;
    return true;
  };
  while (v != out) {
    Operation *op = v.getDefiningOp();
    if (!op)
      return std::nullopt;
    if (auto fma = dyn_cast<math::FmaOp>(op)) {
      if (dependent.contains(fma.getA()) || dependent.contains(fma.getB()) ||
          !agree(Reducer::Add))
        return std::nullopt;
      acc.terms.push_back({fma.getA(), fma.getB()});
      v = fma.getC();
      continue;
    }
    if (isa<arith::SubFOp, arith::SubIOp>(op)) {
      if (dependent.contains(op->getOperand(1)) || !agree(Reducer::Add))
        return std::nullopt;
      acc.terms.push_back({op->getOperand(1), Value(), /*negate=*/true});
      v = op->getOperand(0);
      continue;
    }
    if (std::optional<Reducer> r = getReducerOf(op)) {
      bool left = dependent.contains(op->getOperand(0));
      bool right = dependent.contains(op->getOperand(1));
      if (left == right || !agree(*r))
        return std::nullopt;
      acc.terms.push_back({op->getOperand(left ? 1 : 0)});
      v = op->getOperand(left ? 0 : 1);
      continue;
    }
    std::optional<Comparison> c = matchSelectAgainst(v, Value(), out);
    if (!c || dependent.contains(c->lhs) || !c->ordered || !agree(extremum(*c)))
      return std::nullopt;
    // Only the competitor or the accumulator may come out.
    auto select = cast<arith::SelectOp>(op);
    if (!llvm::is_contained({select.getTrueValue(), select.getFalseValue()},
                            Value(out)))
      return std::nullopt;
    acc.bySelect |= c->isFloat;
    acc.terms.push_back({c->lhs});
    v = out;
  }
  if (!reducer)
    return std::nullopt;
  acc.reducer = *reducer;
  return acc;
}

/// Whether `v` is the position along dim `d` (cast to some type).
static bool isPositionOf(Value v, unsigned d) {
  while (Operation *op = v.getDefiningOp()) {
    if (auto index = dyn_cast<linalg::IndexOp>(op))
      return index.getDim() == d;
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::TruncIOp,
             arith::ExtSIOp, arith::ExtUIOp>(op))
      return false;
    v = op->getOperand(0);
  }
  return false;
}

namespace {

/// Raises one generic.
class Raiser {
public:
  Raiser(linalg::GenericOp generic, RewriterBase &rewriter)
      : op(generic), rewriter(rewriter), body(*generic.getBody()),
        yield(cast<linalg::YieldOp>(body.getTerminator())) {}

  /// The cascade, or the reason why there is none (then nothing has changed).
  FailureOr<CascadeOp> run(Reason &why) {
    if (failed(analyse(why)))
      return failure();
    return build();
  }

private:
  LogicalResult refuse(Reason &why, StringRef condition, const Twine &detail,
                       StringRef remedy) {
    why = {condition.str(), detail.str(), remedy.str()};
    return failure();
  }
  LogicalResult analyse(Reason &why);
  LogicalResult analyseMaps(Reason &why);
  LogicalResult analyseResult(unsigned k, Reason &why);
  bool matchArgument(unsigned k, Reason &why, bool &refused);
  CascadeOp build();
  Value buildReduction(unsigned k, OpBuilder &b, IRMapping &mapping,
                       ArrayRef<Value> initScalars,
                       SmallVectorImpl<Value> &yielded);

  BlockArgument outArgument(unsigned k) {
    return op.getMatchingBlockArgument(op.getDpsInitOperand(k));
  }
  Value yielded(unsigned k) { return yield.getOperand(k); }
  /// The scalar that init `k` was filled with, if it was.
  Value fillOf(unsigned k) {
    auto fill = op.getDpsInitOperand(k)->get().getDefiningOp<linalg::FillOp>();
    return fill ? fill.getInputs().front() : Value();
  }
  bool fillIsIdentity(unsigned k, Reducer reducer);
  bool needsInit(unsigned k) {
    if (!reductionDims.empty())
      return !accumulations[k].isIndex && !accumulations[k].indexResult &&
             !fillIsIdentity(k, accumulations[k].reducer);
    return !outArgument(k).use_empty();
  }

  linalg::GenericOp op;
  RewriterBase &rewriter;
  Block &body;
  linalg::YieldOp yield;
  SmallVector<int64_t> parallelDims, reductionDims;
  llvm::DenseSet<Value> dependent;
  SmallVector<Accumulation> accumulations;
};

} // namespace

bool Raiser::fillIsIdentity(unsigned k, Reducer reducer) {
  Value scalar = fillOf(k);
  TypedAttr value;
  if (!scalar || !matchPattern(scalar, m_Constant(&value)))
    return false;
  if (auto f = dyn_cast<FloatAttr>(value))
    if (reducer == Reducer::Add && f.getValue().isZero())
      return true;
  return value == getReducerIdentity(reducer, scalar.getType());
}

LogicalResult Raiser::analyseMaps(Reason &why) {
  if (!op.hasPureTensorSemantics())
    return refuse(why, "not raised", "the op works on buffers",
                  "start from tensors");
  unsigned numDims = op.getNumLoops();
  for (auto [d, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    (kind == utils::IteratorType::parallel ? parallelDims : reductionDims)
        .push_back(d);
  for (unsigned k = 0; k < op.getNumDpsInits(); ++k) {
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(k));
    if (!map.isProjectedPermutation())
      return refuse(why, "not raised",
                    "result " + Twine(k) +
                        " is written through a map that is not a projected "
                        "permutation",
                    "write each result at distinct plain iteration dims");
    SmallBitVector dims = getDimsOf(map);
    if (dims != toDimSet(parallelDims, numDims))
      return refuse(why, "not raised",
                    "result " + Twine(k) +
                        " is not indexed by exactly the parallel dims",
                    "index every result by all parallel dims and by no "
                    "reduction dim");
  }
  for (AffineMap map : op.getIndexingMapsArray())
    if (map.getNumSymbols() != 0)
      return refuse(why, "not raised", "an indexing map has symbols",
                    "index by iteration dims and constants");
  return success();
}

LogicalResult Raiser::analyse(Reason &why) {
  if (failed(analyseMaps(why)))
    return failure();
  for (Operation &inner : body.without_terminator()) {
    if (inner.getNumRegions() != 0)
      return refuse(why, "not raised",
                    "the body contains '" + inner.getName().getStringRef() +
                        "', which has regions",
                    "write the choice as arith.select");
    if (!isMemoryEffectFree(&inner) && !isa<cf::AssertOp>(inner))
      return refuse(why, "not raised",
                    "the body contains '" + inner.getName().getStringRef() +
                        "', which has side effects",
                    "keep side effects out of tensor code");
  }
  if (reductionDims.empty())
    return success();
  for (unsigned k = 0; k < op.getNumDpsInits(); ++k)
    dependent.insert(outArgument(k));
  for (Operation &inner : body.without_terminator())
    if (llvm::any_of(inner.getOperands(),
                     [&](Value v) { return dependent.contains(v); })) {
      dependent.insert_range(inner.getResults());
      if (isa<cf::AssertOp>(inner))
        return refuse(why, "not raised",
                      "an assertion looks at the running value of a reduction",
                      "assert on the finished value");
    }
  accumulations.resize(op.getNumDpsInits());
  for (unsigned k = 0; k < op.getNumDpsInits(); ++k)
    if (failed(analyseResult(k, why)))
      return failure();
  return success();
}

/// Whether result `k` is the index of an extremum that another result holds.
bool Raiser::matchArgument(unsigned k, Reason &why, bool &refused) {
  BlockArgument out = outArgument(k);
  auto select = yielded(k).getDefiningOp<arith::SelectOp>();
  if (!select || !isa<IntegerType, IndexType>(out.getType()))
    return false;
  Value index = select.getTrueValue() == out ? select.getFalseValue()
                                             : select.getTrueValue();
  if (dependent.contains(index) ||
      (select.getTrueValue() != out && select.getFalseValue() != out))
    return false;
  for (unsigned p = 0; p < op.getNumDpsInits(); ++p) {
    BlockArgument value = outArgument(p);
    std::optional<Comparison> c = matchSelectAgainst(yielded(k), index, value);
    if (p == k || !c || dependent.contains(c->lhs))
      continue;
    std::optional<Accumulation> acc =
        matchAccumulation(yielded(p), value, dependent);
    if (!acc || acc->terms.size() != 1 || acc->terms[0].value != c->lhs ||
        acc->terms[0].factor || acc->terms[0].negate)
      continue;
    bool isMax = llvm::is_contained(
        {Reducer::MaximumF, Reducer::MaxNumF, Reducer::MaxSI}, acc->reducer);
    bool isMin = llvm::is_contained(
        {Reducer::MinimumF, Reducer::MinNumF, Reducer::MinSI}, acc->reducer);
    if (!isMax && !isMin)
      continue;
    if (isMax != c->greater || !c->ordered || c->isUnsigned)
      continue;
    refused = true;
    if (op.getMatchingIndexingMap(op.getDpsInitOperand(k)) !=
        op.getMatchingIndexingMap(op.getDpsInitOperand(p))) {
      (void)refuse(why, "not raised",
                   "an extremum and its index are written at different points",
                   "write both through the same map");
      return false;
    }
    if (c->orEqual) {
      (void)refuse(why, "not raised",
                   "the index of an extremum takes the last among equals",
                   "compare strictly, so that ties go to the lowest index");
      return false;
    }
    if (reductionDims.size() != 1 || !isPositionOf(index, reductionDims[0])) {
      (void)refuse(why, "not raised",
                   "the index of an extremum is not the position along one "
                   "reduction dim",
                   "select linalg.index of the reduction dim");
      return false;
    }
    Reducer reducer = isMax ? Reducer::ArgMax : Reducer::ArgMin;
    TypedAttr start;
    Value indexFill = fillOf(k);
    if (!fillIsIdentity(p, reducer) || !indexFill ||
        !matchPattern(indexFill, m_Constant(&start)) ||
        !isa<IntegerAttr>(start)) {
      (void)refuse(why, "not raised",
                   "an extremum with its index starts from a value that is not "
                   "the identity",
                   "fill the value with -inf (max) or inf (min) and the index "
                   "with a constant");
      return false;
    }
    refused = false;
    acc->reducer = reducer;
    acc->indexResult = k;
    acc->terms.push_back({index});
    accumulations[p] = *acc;
    accumulations[k].isIndex = true;
    return true;
  }
  return false;
}

LogicalResult Raiser::analyseResult(unsigned k, Reason &why) {
  if (accumulations[k].isIndex || accumulations[k].indexResult)
    return success();
  bool refused = false;
  if (matchArgument(k, why, refused))
    return success();
  if (refused)
    return failure();
  BlockArgument out = outArgument(k);
  std::optional<Accumulation> acc =
      matchAccumulation(yielded(k), out, dependent);
  bool independent = acc && llvm::none_of(acc->terms, [&](const Term &t) {
                       return dependent.contains(t.value) ||
                              (t.factor && dependent.contains(t.factor));
                     });
  if (!independent) {
    if (!dependent.contains(yielded(k)))
      return refuse(
          why, "not raised",
          "result " + Twine(k) + " does not accumulate over the reduction dims",
          "combine the old value with the new one by one of add, mul, "
          "max, min, and, or, xor");
    return refuse(why, "unknown combiner",
                  "result " + Twine(k) +
                      " is not `combine(old value, contribution)` with one of "
                      "the known reducers",
                  "combine by add, mul, max, min, and, or, xor, or by a strict "
                  "comparison with its index");
  }
  if (acc->bySelect && !fillIsIdentity(k, acc->reducer)) {
    // select keeps a NaN that it starts with, maxnumf drops it.
    Value scalar = fillOf(k);
    TypedAttr value;
    auto constant = scalar && matchPattern(scalar, m_Constant(&value))
                        ? dyn_cast<FloatAttr>(value)
                        : FloatAttr();
    if (!constant || constant.getValue().isNaN())
      return refuse(why, "not raised",
                    "an extremum by select starts from a value that may be NaN",
                    "start from a constant");
  }
  accumulations[k] = std::move(*acc);
  return success();
}

/// Emits the reduction of result `k` and puts what the cascade yields for it
/// (and for its index) into `yielded`.
Value Raiser::buildReduction(unsigned k, OpBuilder &b, IRMapping &mapping,
                             ArrayRef<Value> initScalars,
                             SmallVectorImpl<Value> &yieldedValues) {
  Accumulation &acc = accumulations[k];
  Location loc = yielded(k).getLoc();
  if (isa<UnknownLoc>(loc)) // the body of a named op that was generalised
    loc = op.getLoc();
  auto contribution = [&](const Term &t) -> Value {
    Value v = mapping.lookupOrDefault(t.value);
    if (t.factor) {
      Value f = mapping.lookupOrDefault(t.factor);
      return arith::MulFOp::create(b, loc, v, f);
    }
    if (!t.negate)
      return v;
    if (isa<FloatType>(v.getType()))
      return arith::NegFOp::create(b, loc, v);
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(v.getType()));
    return arith::SubIOp::create(b, loc, zero, v);
  };
  AffineMap outMap = op.getMatchingIndexingMap(op.getDpsInitOperand(k));
  SmallVector<int64_t> into = toDims(getDimsOf(outMap));
  if (acc.indexResult) {
    auto reduce = ReduceOp::create(
        b, loc, acc.reducer,
        ValueRange{contribution(acc.terms[0]), contribution(acc.terms[1])},
        reductionDims, into);
    Value value = reduce.getResult(0), index = reduce.getResult(1);
    // Where nothing beats the initial value its index stays; the reduction says
    // the lowest position, 0.
    Value start = fillOf(*acc.indexResult);
    if (!matchPattern(start, m_Zero())) {
      Value first = fillOf(k);
      Value beaten;
      if (isa<FloatType>(value.getType()))
        beaten = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, value,
                                       first);
      else
        beaten = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, value,
                                       first);
      index = arith::SelectOp::create(b, loc, beaten, index, start);
    }
    yieldedValues[*acc.indexResult] = index;
    return yieldedValues[k] = value;
  }
  // The terms were collected from the yield inwards.
  Value total;
  for (const Term &t : llvm::reverse(acc.terms)) {
    Value v = contribution(t);
    total = total ? createCombiner(b, loc, acc.reducer, total, v) : v;
  }
  auto reduce = ReduceOp::create(b, loc, acc.reducer, ValueRange{total},
                                 reductionDims, into);
  Value result = reduce.getResult(0);
  if (initScalars[k])
    result = createCombiner(b, loc, acc.reducer, initScalars[k], result);
  return yieldedValues[k] = result;
}

CascadeOp Raiser::build() {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  SmallVector<Value> inputs, inits;
  SmallVector<AffineMap> maps;
  IRMapping mapping;
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
  SmallVector<Value> initScalars(op.getNumDpsInits());
  SmallVector<unsigned> initInputs;
  for (unsigned k = 0; k < op.getNumDpsInits(); ++k) {
    if (!needsInit(k))
      continue;
    if ((initScalars[k] = fillOf(k)))
      continue;
    initInputs.push_back(k);
    inputs.push_back(op.getDpsInitOperand(k)->get());
    maps.push_back(op.getMatchingIndexingMap(op.getDpsInitOperand(k)));
    readArguments.push_back(outArgument(k));
  }
  for (unsigned k = 0; k < op.getNumDpsInits(); ++k) {
    Value init = op.getDpsInitOperand(k)->get();
    if (auto fill = init.getDefiningOp<linalg::FillOp>())
      init = fill.getOutputs().front();
    if (!init.getDefiningOp<tensor::EmptyOp>()) {
      auto type = cast<RankedTensorType>(init.getType());
      init = tensor::EmptyOp::create(rewriter, loc,
                                     tensor::getMixedSizes(rewriter, loc, init),
                                     type.getElementType());
      if (init.getType() != type)
        init = tensor::CastOp::create(rewriter, loc, type, init);
    }
    inits.push_back(init);
    maps.push_back(op.getMatchingIndexingMap(op.getDpsInitOperand(k)));
  }
  auto cascade = CascadeOp::create(rewriter, loc, op->getResultTypes(), inputs,
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

  rewriter.setInsertionPointToEnd(block);
  for (Operation &inner : body.without_terminator()) {
    if (llvm::any_of(inner.getResults(),
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
  SmallVector<Value> results(op.getNumDpsInits());
  for (unsigned k = 0; k < op.getNumDpsInits(); ++k) {
    if (reductionDims.empty())
      results[k] = mapping.lookupOrDefault(yielded(k));
    else if (!accumulations[k].isIndex)
      buildReduction(k, rewriter, mapping, initScalars, results);
  }
  YieldOp::create(rewriter, loc, results);
  // What only the accumulator needed.
  for (Operation &inner :
       llvm::make_early_inc_range(llvm::reverse(block->without_terminator())))
    if (isOpTriviallyDead(&inner))
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
