//===- RaiseTopk.cpp - tm_tensor.topk becomes redfuse.cascade -------------===//
#include "RaiseTopk.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace redfuse;
using tm_tensor::TopkOp;

/// Whether the region places larger values first (true) or smaller ones (false),
/// and of equal ones the first; nothing where it says something else.
static std::optional<bool> placesLargerFirst(TopkOp op) {
  Block &body = op.getRegion().front();
  auto yield = cast<tm_tensor::YieldOp>(body.getTerminator());
  if (yield.getNumOperands() != 1)
    return std::nullopt;
  Operation *compare = yield.getOperand(0).getDefiningOp();
  if (!compare || compare->getNumOperands() != 2)
    return std::nullopt;
  Value fresh = body.getArgument(0), placed = body.getArgument(1);
  Value lhs = compare->getOperand(0), rhs = compare->getOperand(1);
  bool isFlipped = lhs == placed && rhs == fresh;
  if (!isFlipped && (lhs != fresh || rhs != placed))
    return std::nullopt;
  bool greater;
  if (auto f = dyn_cast<arith::CmpFOp>(compare)) {
    using P = arith::CmpFPredicate;
    P p = f.getPredicate();
    greater = p == P::OGT || p == P::UGT;
    if (!greater && p != P::OLT && p != P::ULT)
      return std::nullopt;
  } else if (auto i = dyn_cast<arith::CmpIOp>(compare)) {
    using P = arith::CmpIPredicate;
    P p = i.getPredicate();
    greater = p == P::sgt;
    if (!greater && p != P::slt)
      return std::nullopt;
  } else {
    return std::nullopt;
  }
  return greater != isFlipped;
}

/// Turns the order of values round and back.
static Value reverseOrder(OpBuilder &b, Location loc, Value v) {
  if (isa<FloatType>(v.getType()))
    return arith::NegFOp::create(b, loc, v);
  Value ones =
      arith::ConstantOp::create(b, loc, b.getIntegerAttr(v.getType(), -1));
  return arith::XOrIOp::create(b, loc, v, ones);
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
  std::optional<bool> largerFirst = placesLargerFirst(op);
  if (!largerFirst)
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
  if (!*largerFirst)
    value = reverseOrder(rewriter, loc, value);
  Value index = IndexOp::create(rewriter, loc, rewriter.getIndexType(),
                                rewriter.getI64IntegerAttr(along));
  if (!indicesType.getElementType().isIndex())
    index = arith::IndexCastOp::create(rewriter, loc,
                                       indicesType.getElementType(), index);
  auto reduce =
      ReduceOp::create(rewriter, loc, Reducer::TopK, ValueRange{value, index},
                       ArrayRef<int64_t>{along}, into);
  Value best = reduce.getResult(0);
  if (!*largerFirst)
    best = reverseOrder(rewriter, loc, best);
  YieldOp::create(rewriter, loc, ValueRange{best, reduce.getResult(1)});
  rewriter.replaceOp(op, cascade);
  return success();
}
