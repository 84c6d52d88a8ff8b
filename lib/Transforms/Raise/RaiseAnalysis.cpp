//===- RaiseAnalysis.cpp - what a linalg.generic accumulates --------------===//
#include "Raiser.h"
#include "redfuse/Transforms/Raise/RaiseAffine.h"

#include "redfuse/Dialect/Redfuse/IR/LinearExpr.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

namespace {

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

/// `v` as a comparison of a float with itself, true where it is NaN: the float.
static Value matchIsNaN(Value v) {
  auto cmp = v.getDefiningOp<arith::CmpFOp>();
  bool isOne =
      cmp && cmp.getLhs() == cmp.getRhs() &&
      llvm::is_contained({arith::CmpFPredicate::UNO, arith::CmpFPredicate::UNE},
                         cmp.getPredicate());
  return isOne ? cmp.getLhs() : Value();
}

static bool isNumber(Value v, Value number) {
  if (auto negated = v.getDefiningOp<arith::XOrIOp>())
    for (bool flip : {false, true})
      if (matchPattern(negated->getOperand(flip), m_One()) &&
          matchIsNaN(negated->getOperand(!flip)) == number)
        return true;
  auto cmp = v.getDefiningOp<arith::CmpFOp>();
  return cmp && cmp.getLhs() == number && cmp.getRhs() == number &&
         llvm::is_contained(
             {arith::CmpFPredicate::ORD, arith::CmpFPredicate::OEQ},
             cmp.getPredicate());
}

/// `select(a > out or a is NaN, index, old)`: the index of the last NaN, if there is
/// one; of the first one with `a is NaN and out is none`.
static std::optional<std::pair<Comparison, IndexOfNaN>>
matchIndexWithNaN(Value v, Value index, Value accumulator) {
  auto select = v.getDefiningOp<arith::SelectOp>();
  auto either = select ? select.getCondition().getDefiningOp<arith::OrIOp>()
                       : arith::OrIOp();
  if (!either || select.getTrueValue() != index)
    return std::nullopt;
  for (bool flip : {false, true}) {
    std::optional<Comparison> c = matchComparison(either->getOperand(flip));
    if (!c || !c->isFloat)
      continue;
    if (c->lhs == accumulator) {
      std::swap(c->lhs, c->rhs);
      c->greater = !c->greater;
    }
    if (c->rhs != accumulator)
      continue;
    Value other = either->getOperand(!flip);
    if (matchIsNaN(other) == c->lhs)
      return std::pair(*c, IndexOfNaN::Last);
    auto both = other.getDefiningOp<arith::AndIOp>();
    if (!both)
      continue;
    for (bool swap : {false, true})
      if (matchIsNaN(both->getOperand(swap)) == c->lhs &&
          isNumber(both->getOperand(!swap), accumulator))
        return std::pair(*c, IndexOfNaN::First);
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

/// `v` as a sum of positions along the loops' dims, or nothing.
static AffineExpr getPosition(Value v) {
  MLIRContext *context = v.getContext();
  APInt constant;
  if (matchPattern(v, m_ConstantInt(&constant)))
    return getAffineConstantExpr(constant.getSExtValue(), context);
  Operation *op = v.getDefiningOp();
  if (!op)
    return {};
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return getAffineDimExpr(index.getDim(), context);
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::TruncIOp,
          arith::ExtSIOp, arith::ExtUIOp>(op))
    return getPosition(op->getOperand(0));
  if (!isa<affine::AffineApplyOp, arith::AddIOp, arith::MulIOp>(op))
    return {};
  SmallVector<AffineExpr> operands =
      llvm::map_to_vector(op->getOperands(), getPosition);
  if (llvm::is_contained(operands, AffineExpr()))
    return {};
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    AffineMap map = apply.getAffineMap();
    ArrayRef<AffineExpr> all(operands);
    return map.getResult(0).replaceDimsAndSymbols(
        all.take_front(map.getNumDims()), all.drop_front(map.getNumDims()));
  }
  if (isa<arith::AddIOp>(op))
    return operands[0] + operands[1];
  if (!isa<AffineConstantExpr>(operands[0]) &&
      !isa<AffineConstantExpr>(operands[1]))
    return {};
  return operands[0] * operands[1];
}

/// Whether `index` grows from each element of the reduction to the next, the
/// last reduction dim fastest: the lowest among equals is then the first. (What
/// a parallel dim adds is the same for all.)
bool Raiser::isIncreasing(Value index) {
  AffineExpr position = getPosition(index);
  std::optional<LinearExpr> linear;
  if (position)
    linear = getLinearExpr(position, op.getNumLoops());
  if (!linear)
    return false;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  // What the faster dims add at most, where that is known.
  int64_t span = 0;
  bool isKnown = true;
  for (int64_t d : llvm::reverse(reductionDims)) {
    int64_t step = linear->coefficients[d], more;
    if (extents[d] == 1)
      continue;
    if (!isKnown || step <= span)
      return false;
    isKnown = !ShapedType::isDynamic(extents[d]) &&
              !llvm::MulOverflow(step, extents[d] - 1, more) &&
              !llvm::AddOverflow(span, more, span);
  }
  return true;
}

bool Raiser::fillIs(unsigned k, TypedAttr identity) {
  Value scalar = fillOf(k);
  TypedAttr value;
  return scalar && matchPattern(scalar, m_Constant(&value)) &&
         value == identity;
}

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

bool Raiser::startsFromNumber(unsigned k) {
  Value scalar = fillOf(k);
  FloatAttr value;
  return scalar && matchPattern(scalar, m_Constant(&value)) &&
         !value.getValue().isNaN();
}

/// Whether no two operands have different known extents in one dim. linalg's verifier
/// asks that only where all extents are known.
static bool agree(linalg::GenericOp op) {
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  for (OpOperand &operand : op->getOpOperands())
    for (auto [expr, size] :
         llvm::zip_equal(op.getMatchingIndexingMap(&operand).getResults(),
                         op.getShape(&operand))) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim || ShapedType::isDynamic(size))
        continue;
      int64_t &extent = extents[dim.getPosition()];
      if (ShapedType::isDynamic(extent))
        extent = size;
      if (extent != size)
        return false;
    }
  return true;
}

LogicalResult Raiser::analyseMaps(Reason &why) {
  if (!op.hasPureTensorSemantics())
    return refuse(why, "not raised", "the op works on buffers",
                  "start from tensors");
  if (op.getNumDpsInits() == 0)
    return refuse(why, "not raised", "the op has assertions and no result",
                  "it checks its inputs on its own; nothing to do");
  for (Type type : op->getOperandTypes()) {
    Type element = getElementTypeOrSelf(type);
    if (!element.isIntOrIndexOrFloat())
      return refuse(why, "not raised",
                    "an operand holds " + debugString(element),
                    "write its parts as tensors of numbers");
  }
  if (!agree(op))
    return refuse(why, "not raised",
                  "its operands have different extents in one dim",
                  "it never runs, as this is checked in front of it");
  unsigned numDims = op.getNumLoops();
  prefixes.resize(op.getNumDpsInits());
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
    if (reductionDims.size() == 1 && dims.all()) {
      prefixes.set(k);
      if (!outArgument(k).use_empty())
        return refuse(why, "not raised",
                      "result " + Twine(k) +
                          " is written at every step and reads what it held",
                      "carry the running value in an accumulator");
      continue;
    }
    if (dims != toDimSet(parallelDims, numDims))
      return refuse(why, "not raised",
                    "result " + Twine(k) +
                        " is not indexed by exactly the parallel dims",
                    "index every result by all parallel dims and by no "
                    "reduction dim (or by one, for every prefix)");
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
    for (Type type : inner.getResultTypes())
      if (!type.isIntOrIndexOrFloat())
        return refuse(why, "not raised",
                      "the body computes with " + debugString(type),
                      "write its parts as numbers");
    if (inner.getNumRegions() != 0 && !isa<CombineOp>(inner))
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
    if (!isPrefix(k))
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
    if (!isPrefix(k) && failed(analyseResult(k, why)))
      return failure();
  if (prefixes.any() && llvm::any_of(accumulations, [](const Accumulation &a) {
        return a.isIndex || a.indexResult;
      }))
    return refuse(why, "not raised",
                  "prefixes of an extremum together with its index",
                  "scan the value alone");
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
    if (isPrefix(p))
      continue;
    BlockArgument value = outArgument(p);
    std::optional<Comparison> c = matchSelectAgainst(yielded(k), index, value);
    IndexOfNaN indexOfNaN = IndexOfNaN::Ignored;
    if (auto withNaN = matchIndexWithNaN(yielded(k), index, value))
      std::tie(c, indexOfNaN) = *withNaN;
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
    // A NaN ends the search: the running extremum is NaN from there on.
    bool seesNaN = indexOfNaN != IndexOfNaN::Ignored;
    if (seesNaN && (!isa<IntegerType>(out.getType()) || !startsFromNumber(p) ||
                    !llvm::is_contained({Reducer::MaximumF, Reducer::MinimumF},
                                        acc->reducer)))
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
    if (!isIncreasing(index)) {
      (void)refuse(why, "not raised",
                   "the index of an extremum is not known to grow from each "
                   "element to the next",
                   "select linalg.index of the reduction dim, or the row-major "
                   "position over several of known extents");
      return false;
    }
    bool keepsNaN = acc->bySelect || acc->reducer == Reducer::MaximumF ||
                    acc->reducer == Reducer::MinimumF;
    if (c->isFloat && !keepsNaN && !startsFromNumber(p)) {
      (void)refuse(why, "not raised",
                   "an extremum that drops NaN starts, with its index, from a "
                   "value that may be NaN",
                   "start from a number, as -infinity is");
      return false;
    }
    Reducer reducer = isMax ? Reducer::ArgMax : Reducer::ArgMin;
    refused = false;
    acc->valueReducer = acc->reducer;
    acc->reducer = reducer;
    acc->indexOfNaN = indexOfNaN;
    acc->indexResult = k;
    acc->terms.push_back({index});
    accumulations[p] = *acc;
    accumulations[k].isIndex = true;
    return true;
  }
  return false;
}

/// Whether `combine` takes accumulators on its left, each of which becomes its
/// result at the same place, and elements on its right.
bool Raiser::matchDeclared(CombineOp combine) {
  for (auto [left, right, result] : llvm::zip_equal(
           combine.getLeft(), combine.getRight(), combine.getResults())) {
    auto accumulator = dyn_cast<BlockArgument>(left);
    if (!accumulator || accumulator.getOwner() != &body ||
        dependent.contains(right))
      return false;
    bool isYielded = false;
    for (unsigned k = 0; k < op.getNumDpsInits(); ++k)
      isYielded |=
          !isPrefix(k) && outArgument(k) == accumulator && yielded(k) == result;
    if (!isYielded)
      return false;
  }
  return true;
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
  if (auto combine = yielded(k).getDefiningOp<CombineOp>()) {
    if (!matchDeclared(combine))
      return refuse(why, "declared combiner",
                    "the accumulators are not the left state of "
                    "redfuse.combine, in order, or its right state needs them",
                    "combine (accumulators..., elements...) and yield every "
                    "result");
    accumulations[k].combine = combine;
    return success();
  }
  std::optional<Accumulation> acc =
      matchAccumulation(yielded(k), out, dependent);
  bool independent =
      acc && llvm::none_of(acc->terms, [&](const Contribution &t) {
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
    if (isAffineIn(yielded(k), out, dependent)) {
      accumulations[k].isAffine = true;
      return success();
    }
    return refuse(why, "unknown combiner",
                  "result " + Twine(k) +
                      " is not `combine(old value, contribution)` with one of "
                      "the known reducers, nor a*old + b",
                  "combine by add, mul, max, min, and, or, xor, or by a strict "
                  "comparison with its index; or, if it is associative, "
                  "declare it: redfuse.combiner = {identity = [...]}");
  }
  // select keeps a NaN that it starts with, and so does maxnumf where all else is NaN,
  // too; the reducer's identity is an infinity.
  bool dropsNaN =
      acc->reducer == Reducer::MaxNumF || acc->reducer == Reducer::MinNumF;
  if ((acc->bySelect || dropsNaN) && !fillIsIdentity(k, acc->reducer) &&
      !startsFromNumber(k))
    return refuse(why, "not raised",
                  "an extremum that drops NaN starts from a value that may be "
                  "NaN",
                  "start from a number, as -infinity is");
  accumulations[k] = std::move(*acc);
  return success();
}
