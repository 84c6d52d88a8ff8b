//===- RaiseTopk.cpp - tm_tensor.topk becomes redfuse.cascade -------------===//
#include "RaiseTopk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace redfuse;
using tm_tensor::TopkOp;

namespace {
/// Which of two values is placed first; of equal ones the first.
enum class Placing {
  /// The larger one; NaN as the reducer has it, larger than all.
  Larger,
  /// The smaller one; NaN, if a comparison leaves it open, smaller than all.
  Smaller,
  /// The smaller one, NaN behind all numbers.
  SmallerNanLast,
};
} // namespace

/// Whether `compare` of two values says that `x` is larger (true) or smaller (false) than `y`,
/// `orEqual` or not.
static std::optional<bool> readComparison(Operation *compare, Value x, Value y,
                                          bool orEqual) {
  if (!compare || compare->getNumOperands() != 2)
    return std::nullopt;
  Value lhs = compare->getOperand(0), rhs = compare->getOperand(1);
  bool isFlipped = lhs == y && rhs == x;
  if (!isFlipped && (lhs != x || rhs != y))
    return std::nullopt;
  bool greater, less;
  if (auto f = dyn_cast<arith::CmpFOp>(compare)) {
    using P = arith::CmpFPredicate;
    P p = f.getPredicate();
    greater = orEqual ? p == P::OGE || p == P::UGE : p == P::OGT || p == P::UGT;
    less = orEqual ? p == P::OLE || p == P::ULE : p == P::OLT || p == P::ULT;
  } else if (auto i = dyn_cast<arith::CmpIOp>(compare)) {
    using P = arith::CmpIPredicate;
    greater = i.getPredicate() == (orEqual ? P::sge : P::sgt);
    less = i.getPredicate() == (orEqual ? P::sle : P::slt);
  } else {
    return std::nullopt;
  }
  if (!greater && !less)
    return std::nullopt;
  return greater != isFlipped;
}

/// The value of which `v` says that it is NaN.
static Value getTestedForNan(Value v) {
  auto compare = v.getDefiningOp<arith::CmpFOp>();
  bool isTest = compare &&
                compare.getPredicate() == arith::CmpFPredicate::UNO &&
                compare.getLhs() == compare.getRhs();
  return isTest ? compare.getLhs() : Value();
}

/// The order of a region; nothing where it says something else. A sort that became a top-k
/// says when the new value does *not* go first: where the placed one is as good, or NaN is in
/// its place.
static std::optional<Placing> readOrder(TopkOp op) {
  Block &body = op.getRegion().front();
  auto yield = cast<tm_tensor::YieldOp>(body.getTerminator());
  if (yield.getNumOperands() != 1)
    return std::nullopt;
  Value fresh = body.getArgument(0), placed = body.getArgument(1);
  auto flip = yield.getOperand(0).getDefiningOp<arith::XOrIOp>();
  if (!flip) {
    std::optional<bool> larger = readComparison(
        yield.getOperand(0).getDefiningOp(), fresh, placed, /*orEqual=*/false);
    if (!larger)
      return std::nullopt;
    return *larger ? Placing::Larger : Placing::Smaller;
  }
  if (!matchPattern(flip.getRhs(), m_One()))
    return std::nullopt;
  auto either = flip.getLhs().getDefiningOp<arith::OrIOp>();
  if (!either)
    return std::nullopt;
  Value nan = getTestedForNan(either.getRhs()), compare = either.getLhs();
  if (!nan) {
    nan = getTestedForNan(either.getLhs());
    compare = either.getRhs();
  }
  std::optional<bool> larger =
      readComparison(compare.getDefiningOp(), placed, fresh, /*orEqual=*/true);
  if (larger && *larger && nan == placed)
    return Placing::Larger;
  if (larger && !*larger && nan == fresh)
    return Placing::SmallerNanLast;
  return std::nullopt;
}

/// Turns the order of values round and back.
static Value reverseOrder(OpBuilder &b, Location loc, Value v) {
  if (isa<FloatType>(v.getType()))
    return arith::NegFOp::create(b, loc, v);
  Value ones =
      arith::ConstantOp::create(b, loc, b.getIntegerAttr(v.getType(), -1));
  return arith::XOrIOp::create(b, loc, v, ones);
}

/// What the bits of a float are as a number of the same order, and back: where the sign is
/// set, all other bits are flipped.
static Value flipNegative(OpBuilder &b, Location loc, Value bits) {
  auto type = cast<IntegerType>(bits.getType());
  auto constant = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
  };
  unsigned width = type.getWidth();
  Value sign =
      arith::ShRSIOp::create(b, loc, bits, constant(APInt(width, width - 1)));
  Value others = arith::AndIOp::create(
      b, loc, sign, constant(APInt::getSignedMaxValue(width)));
  return arith::XOrIOp::create(b, loc, bits, others);
}

/// A number that is larger the smaller a float is, and least of all where it is NaN. Floats of
/// fewer bits are ordered as f32; the two zeros are one.
static Value makeKey(OpBuilder &b, Location loc, Value v) {
  auto type = cast<FloatType>(v.getType());
  if (type.getWidth() < 32) {
    type = b.getF32Type();
    v = arith::ExtFOp::create(b, loc, type, v);
  }
  auto constant = [&](const APFloat &value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  };
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  Value zero = constant(APFloat::getZero(semantics));
  Value isZero =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, v, zero);
  v = arith::SelectOp::create(b, loc, isZero, zero, v);
  Value isNan = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, v, v);
  v = arith::SelectOp::create(b, loc, isNan,
                              constant(APFloat::getNaN(semantics)), v);
  Value bits =
      arith::BitcastOp::create(b, loc, b.getIntegerType(type.getWidth()), v);
  return reverseOrder(b, loc, flipNegative(b, loc, bits));
}

/// The float that a key was made of.
static Value readKey(OpBuilder &b, Location loc, Value key, Type type) {
  bool isNarrow = type.getIntOrFloatBitWidth() < 32;
  Value bits = flipNegative(b, loc, reverseOrder(b, loc, key));
  Value v =
      arith::BitcastOp::create(b, loc, isNarrow ? b.getF32Type() : type, bits);
  if (isNarrow)
    v = arith::TruncFOp::create(b, loc, type, v);
  return v;
}

LogicalResult redfuse::raiseTopk(TopkOp op, RewriterBase &rewriter,
                                 std::string &detail, std::string &remedy) {
  auto refuse = [&](StringRef what, StringRef how) {
    detail = what.str();
    remedy = how.str();
    return failure();
  };
  if (op.getInputs().size() != 1 || op.getOutputs().size() != 2)
    return refuse("a top-k with indices of its own",
                  "let the indices be the positions along the dimension");
  std::optional<Placing> order = readOrder(op);
  if (!order)
    return refuse("a top-k whose region is not a strict comparison of the new "
                  "value with the placed one",
                  "compare by ogt or olt (sgt or slt)");
  Value input = op.getInputs().front();
  auto inputType = cast<RankedTensorType>(input.getType());
  auto valuesType = cast<RankedTensorType>(op.getOutputs()[0].getType());
  auto indicesType = cast<RankedTensorType>(op.getOutputs()[1].getType());
  int64_t along = op.getDimension(), rank = inputType.getRank();
  if (valuesType.isDynamicDim(along))
    return refuse("a top-k whose k is known at run time only",
                  "give k as a constant");
  if (!indicesType.getElementType().isIntOrIndex() ||
      valuesType.getElementType() != inputType.getElementType())
    return refuse("a top-k whose results have other types than its input",
                  "convert after the selection");

  // What is beyond the last element keeps what the destination held.
  bool mayRunOut = inputType.isDynamicDim(along) ||
                   inputType.getDimSize(along) < valuesType.getDimSize(along);
  if (mayRunOut && llvm::any_of(op.getOutputs(), [](Value out) {
        return !out.getDefiningOp<tensor::EmptyOp>();
      }))
    return refuse("a top-k that may have fewer elements than k and keeps the "
                  "rest of its destinations",
                  "start from tensor.empty");

  // Dims: those of the input, then the rank.
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  AffineMap inMap = AffineMap::getMultiDimIdentityMap(rank, context);
  inMap = AffineMap::get(rank + 1, 0, inMap.getResults(), context);
  SmallVector<AffineExpr> exprs(inMap.getResults());
  exprs[along] = getAffineDimExpr(rank, context);
  AffineMap outMap = AffineMap::get(rank + 1, 0, exprs, context);
  SmallVector<int64_t> into;
  for (int64_t d = 0; d <= rank; ++d)
    if (d != along)
      into.push_back(d);

  rewriter.setInsertionPoint(op);
  SmallVector<Value> inits;
  for (Value out : op.getOutputs()) {
    auto type = cast<RankedTensorType>(out.getType());
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        sizes.push_back(tensor::DimOp::create(rewriter, loc, out, d));
    inits.push_back(tensor::EmptyOp::create(rewriter, loc, type, sizes));
  }
  auto cascade = CascadeOp::create(
      rewriter, loc, op->getResultTypes(), ValueRange{input}, inits,
      rewriter.getAffineMapArrayAttr({inMap, outMap, outMap}),
      /*schedule=*/nullptr);
  Block *body = rewriter.createBlock(&cascade.getBody(), {},
                                     inputType.getElementType(), loc);
  Value value = body->getArgument(0);
  if (*order == Placing::Smaller)
    value = reverseOrder(rewriter, loc, value);
  else if (*order == Placing::SmallerNanLast)
    value = makeKey(rewriter, loc, value);
  Value index = IndexOp::create(rewriter, loc, rewriter.getIndexType(),
                                rewriter.getI64IntegerAttr(along));
  if (!indicesType.getElementType().isIndex())
    index = arith::IndexCastOp::create(rewriter, loc,
                                       indicesType.getElementType(), index);
  auto reduce =
      ReduceOp::create(rewriter, loc, Reducer::TopK, ValueRange{value, index},
                       ArrayRef<int64_t>{along}, into);
  Value best = reduce.getResult(0);
  if (*order == Placing::Smaller)
    best = reverseOrder(rewriter, loc, best);
  else if (*order == Placing::SmallerNanLast)
    best = readKey(rewriter, loc, best, inputType.getElementType());
  YieldOp::create(rewriter, loc, ValueRange{best, reduce.getResult(1)});
  rewriter.replaceOp(op, cascade);
  return success();
}
