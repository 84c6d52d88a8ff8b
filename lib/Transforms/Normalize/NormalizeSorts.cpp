//===- NormalizeSorts.cpp - a sort of which k elements are used -----------===//
#include "NormalizeCommon.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZESORTS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
namespace tm_tensor = redfuse::tm_tensor;

bool redfuse::holdsPositions(Value tensor, int64_t dimension) {
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumResults() != 1 ||
      generic.getNumParallelLoops() != generic.getNumLoops())
    return false;
  AffineMap map = generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
  Value value = generic.getBody()->getTerminator()->getOperand(0);
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  auto index = value.getDefiningOp<linalg::IndexOp>();
  if (!index || !map.isPermutation())
    return false;
  return map.getDimPosition(dimension) == index.getDim();
}

namespace {

/// The slices that read `result`, if they are all its first `k` elements along
/// `dimension` with everything of the other dims.
LogicalResult collectHeads(OpResult result, int64_t dimension, OpFoldResult &k,
                           SmallVectorImpl<tensor::ExtractSliceOp> &heads) {
  auto type = cast<RankedTensorType>(result.getType());
  for (Operation *user : result.getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || !slice.hasUnitStride() || !slice.hasZeroOffset() ||
        slice.getType().getRank() != type.getRank())
      return failure();
    for (auto [dim, size] : llvm::enumerate(slice.getMixedSizes())) {
      if (static_cast<int64_t>(dim) == dimension) {
        // Of an open number it may be the whole row.
        if (!getConstantIntValue(size) ||
            (k && !isEqualConstantIntOrValue(k, size)))
          return failure();
        k = size;
        continue;
      }
      std::optional<int64_t> fixed = getConstantIntValue(size);
      bool whole = fixed && *fixed == type.getDimSize(dim);
      if (auto value = dyn_cast<Value>(size))
        if (auto dimOp = value.getDefiningOp<tensor::DimOp>())
          whole |= dimOp.getConstantIndex() == static_cast<int64_t>(dim) &&
                   (dimOp.getSource() == result ||
                    llvm::is_contained(result.getOwner()->getOperands(),
                                       dimOp.getSource()));
      if (!whole)
        return failure();
    }
    heads.push_back(slice);
  }
  return success();
}

/// What is true just where `predicate` is false.
arith::CmpFPredicate invert(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return P::AlwaysTrue;
  case P::OEQ:
    return P::UNE;
  case P::OGT:
    return P::ULE;
  case P::OGE:
    return P::ULT;
  case P::OLT:
    return P::UGE;
  case P::OLE:
    return P::UGT;
  case P::ONE:
    return P::UEQ;
  case P::ORD:
    return P::UNO;
  case P::UEQ:
    return P::ONE;
  case P::UGT:
    return P::OLE;
  case P::UGE:
    return P::OLT;
  case P::ULT:
    return P::OGE;
  case P::ULE:
    return P::OGT;
  case P::UNE:
    return P::OEQ;
  case P::UNO:
    return P::ORD;
  case P::AlwaysTrue:
    return P::AlwaysFalse;
  }
  llvm_unreachable("a predicate that arith does not have");
}

/// Fills the region of `topk`, "does the new one go before the placed one",
/// from the sort's "may a stay before b": not (placed stays before new).
void buildRegion(PatternRewriter &rewriter, tm_tensor::SortOp sort,
                 tm_tensor::TopkOp topk) {
  OpBuilder::InsertionGuard guard(rewriter);
  Block &order = sort.getRegion().front();
  Type type = order.getArgument(0).getType();
  Location loc = sort.getLoc();
  Block *body =
      rewriter.createBlock(&topk.getRegion(), {}, {type, type}, {loc, loc});
  Value fresh = body->getArgument(0), placed = body->getArgument(1);
  IRMapping mapping;
  mapping.map(order.getArgument(0), placed);
  mapping.map(order.getArgument(1), fresh);
  for (Operation &op : order.without_terminator())
    rewriter.clone(op, mapping);
  Value stays = mapping.lookupOrDefault(order.getTerminator()->getOperand(0));
  Value goesBefore;
  // One comparison is inverted on the spot, so that the order stays readable.
  if (auto compare = stays.getDefiningOp<arith::CmpFOp>();
      compare && compare->getBlock() == body) {
    goesBefore = arith::CmpFOp::create(
        rewriter, loc, invert(compare.getPredicate()), compare.getLhs(),
        compare.getRhs(), compare.getFastmath());
    rewriter.eraseOp(compare);
  } else if (auto compare = stays.getDefiningOp<arith::CmpIOp>();
             compare && compare->getBlock() == body) {
    goesBefore = arith::CmpIOp::create(
        rewriter, loc, arith::invertPredicate(compare.getPredicate()),
        compare.getLhs(), compare.getRhs());
    rewriter.eraseOp(compare);
  } else {
    Value yes = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
    goesBefore = arith::XOrIOp::create(rewriter, loc, stays, yes);
  }
  tm_tensor::YieldOp::create(rewriter, loc, goesBefore);
}

struct SortToTopk : OpRewritePattern<tm_tensor::SortOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tm_tensor::SortOp sort,
                                PatternRewriter &rewriter) const override {
    unsigned count = sort.getNumResults();
    if (count < 1 || count > 2)
      return rewriter.notifyMatchFailure(sort, "not values and indices");
    Block &order = sort.getRegion().front();
    for (BlockArgument argument : order.getArguments().drop_front(2))
      if (!argument.use_empty())
        return rewriter.notifyMatchFailure(sort, "ordered by more than values");
    int64_t dimension = sort.getDimension();
    OpFoldResult k;
    SmallVector<SmallVector<tensor::ExtractSliceOp>> heads(count);
    for (unsigned i = 0; i < count; ++i)
      if (failed(collectHeads(sort->getResult(i), dimension, k, heads[i])))
        return rewriter.notifyMatchFailure(
            sort, "not only the first k elements are used");
    if (!k)
      return rewriter.notifyMatchFailure(sort, "unused");

    Location loc = sort.getLoc();
    Value values = sort.getOutputs()[0];
    SmallVector<Value> inputs{values};
    Type indexType = rewriter.getI64Type();
    if (count == 2) {
      Value indices = sort.getOutputs()[1];
      indexType = getElementTypeOrSelf(indices.getType());
      if (!indexType.isIntOrIndex())
        return rewriter.notifyMatchFailure(sort, "indices are not integers");
      if (!redfuse::holdsPositions(indices, dimension))
        inputs.push_back(indices);
    }
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, values);
    sizes[dimension] = rewriter.getIndexAttr(*getConstantIntValue(k));
    Type valueType = getElementTypeOrSelf(values.getType());
    Value outValues = tensor::EmptyOp::create(rewriter, loc, sizes, valueType);
    Value outIndices = tensor::EmptyOp::create(rewriter, loc, sizes, indexType);
    auto topk = tm_tensor::TopkOp::create(
        rewriter, loc, TypeRange{outValues.getType(), outIndices.getType()},
        inputs, ValueRange{outValues, outIndices}, dimension);
    buildRegion(rewriter, sort, topk);
    for (unsigned i = 0; i < count; ++i)
      for (tensor::ExtractSliceOp slice : heads[i]) {
        Value result = topk.getResult(i);
        if (result.getType() != slice.getType())
          result =
              tensor::CastOp::create(rewriter, loc, slice.getType(), result);
        rewriter.replaceOp(slice, result);
      }
    rewriter.eraseOp(sort);
    return success();
  }
};

struct NormalizeSorts : redfuse::impl::NormalizeSortsBase<NormalizeSorts> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeSortsPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeSortsPatterns(RewritePatternSet &patterns) {
  patterns.add<SortToTopk>(patterns.getContext());
}
