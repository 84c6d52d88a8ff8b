//===- NormalizeViews.cpp - copies and slices into indexing maps ----------===//
#include "NormalizeCommon.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZEVIEWS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {

/// Makes input `operand` of `op` read `source` through `map`, unless the loops'
/// extents could then no longer be told from the operands.
LogicalResult readThrough(linalg::GenericOp op, OpOperand *operand,
                          Value source, AffineMap map,
                          PatternRewriter &rewriter) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps[operand->getOperandNumber()] = map;
  if (!inversePermutation(concatAffineMaps(maps, op.getContext())))
    return rewriter.notifyMatchFailure(
        op, "only the view tells the extent of a loop");
  rewriter.modifyOpInPlace(op, [&] {
    operand->set(source);
    op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  });
  return success();
}

/// A reader of a generic that only yields one of its inputs reads that input.
struct FoldCopies : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "not on tensors");
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto result = dyn_cast<OpResult>(operand->get());
      auto copy = operand->get().getDefiningOp<linalg::GenericOp>();
      if (!copy || !copy.hasPureTensorSemantics() ||
          copy.getNumParallelLoops() != copy.getNumLoops() ||
          !copy.getBody()->without_terminator().empty())
        continue;
      auto yielded =
          dyn_cast<BlockArgument>(copy.getBody()->getTerminator()->getOperand(
              result.getResultNumber()));
      if (!yielded || yielded.getOwner() != copy.getBody() ||
          yielded.getArgNumber() >= copy.getNumDpsInputs())
        continue;
      OpOperand *input = copy.getDpsInputOperand(yielded.getArgNumber());
      if (!isa<RankedTensorType>(input->get().getType()))
        continue;
      AffineMap written = copy.getMatchingIndexingMap(
          copy.getDpsInitOperand(result.getResultNumber()));
      if (!written.isPermutation())
        continue;
      AffineMap map = copy.getMatchingIndexingMap(input)
                          .compose(inversePermutation(written))
                          .compose(op.getMatchingIndexingMap(operand));
      if (succeeded(readThrough(op, operand, input->get(), map, rewriter)))
        return success();
    }
    return rewriter.notifyMatchFailure(op, "reads no copy that can be folded");
  }
};

/// Whether a tensor is a view of what is computed here: views of arguments cost
/// nothing and stay, those would stand between that and the reader.
bool isComputed(Value source) {
  while (Operation *op = source.getDefiningOp()) {
    if (isa<linalg::GenericOp>(op))
      return true;
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp>(op))
      return false;
    source = op->getOperand(0);
  }
  return false;
}

/// A reader of a tensor with unit dims added to it reads it without them.
struct FoldAddedUnitDims : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "not on tensors");
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto view = operand->get().getDefiningOp<tensor::ExpandShapeOp>();
      if (!view || !isComputed(view.getSrc()))
        continue;
      AffineMap map = op.getMatchingIndexingMap(operand);
      SmallVector<AffineExpr> exprs;
      for (ArrayRef<int64_t> group : view.getReassociationIndices()) {
        auto isLong = [&](int64_t d) {
          return view.getResultType().getDimSize(d) != 1;
        };
        if (llvm::count_if(group, isLong) > 1)
          break;
        auto dim = llvm::find_if(group, isLong);
        exprs.push_back(map.getResult(dim == group.end() ? group[0] : *dim));
      }
      if (exprs.size() == view.getReassociationIndices().size() &&
          succeeded(readThrough(
              op, operand, view.getSrc(),
              AffineMap::get(map.getNumDims(), 0, exprs, op.getContext()),
              rewriter)))
        return success();
    }
    return rewriter.notifyMatchFailure(op, "reads no added unit dims");
  }
};

/// A reader of a slice with static offsets and strides reads the source.
struct FoldSlices : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "not on tensors");
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto slice = operand->get().getDefiningOp<tensor::ExtractSliceOp>();
      if (!slice)
        continue;
      FailureOr<AffineMap> map =
          getSourceMap(slice, op.getMatchingIndexingMap(operand));
      if (succeeded(map) && isComputed(slice.getSource()) &&
          succeeded(tellExtents(op, operand, *map, rewriter)))
        return success();
      if (succeeded(map) &&
          succeeded(
              readThrough(op, operand, slice.getSource(), *map, rewriter)))
        return success();
    }
    return rewriter.notifyMatchFailure(op, "reads no slice that can be folded");
  }

private:
  /// If only the slice that `operand` is tells the extents of loops: gives `op`
  /// an operand of that shape that nobody reads.
  static LogicalResult tellExtents(linalg::GenericOp op, OpOperand *operand,
                                   AffineMap map, PatternRewriter &rewriter) {
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    AffineMap told = op.getMatchingIndexingMap(operand);
    auto type = cast<RankedTensorType>(operand->get().getType());
    maps[operand->getOperandNumber()] = map;
    if (inversePermutation(concatAffineMaps(maps, op.getContext())) ||
        !told.isProjectedPermutation() || !type.hasStaticShape())
      return failure();
    Value shape = tensor::EmptyOp::create(
        rewriter, op.getLoc(), type.getShape(), type.getElementType());
    maps[operand->getOperandNumber()] = told;
    maps.insert(maps.begin() + op.getNumDpsInputs(), told);
    SmallVector<Value> inputs(op.getInputs());
    inputs.push_back(shape);
    auto wider = linalg::GenericOp::create(
        rewriter, op.getLoc(), op.getResultTypes(), inputs, op.getOutputs(),
        maps, op.getIteratorTypesArray());
    for (NamedAttribute attr : op->getDiscardableAttrs())
      wider->setDiscardableAttr(attr.getName(), attr.getValue());
    rewriter.inlineRegionBefore(op.getRegion(), wider.getRegion(),
                                wider.getRegion().begin());
    wider.getBody()->insertArgument(op.getNumDpsInputs(), type.getElementType(),
                                    op.getLoc());
    rewriter.replaceOp(op, wider.getResults());
    return success();
  }

  /// The map into the slice's source that reads what `map` reads of the slice.
  static FailureOr<AffineMap> getSourceMap(tensor::ExtractSliceOp slice,
                                           AffineMap map) {
    if (ShapedType::isDynamicShape(slice.getStaticOffsets()) ||
        ShapedType::isDynamicShape(slice.getStaticStrides()))
      return failure();
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    MLIRContext *context = slice.getContext();
    SmallVector<AffineExpr> exprs;
    unsigned next = 0;
    for (int64_t dim = 0; dim < slice.getSourceType().getRank(); ++dim) {
      int64_t offset = slice.getStaticOffset(dim);
      int64_t stride = slice.getStaticStride(dim);
      int64_t size = slice.getStaticSizes()[dim];
      if (dropped.test(dim)) {
        exprs.push_back(getAffineConstantExpr(offset, context));
        continue;
      }
      AffineExpr expr = map.getResult(next++);
      int64_t extent = slice.getSourceType().getDimSize(dim);
      bool whole = offset == 0 && stride == 1 && size == extent &&
                   ShapedType::isStatic(size);
      if (!whole && offset == 0 && stride == 1) {
        // A plain dim would claim that the loop runs over the whole source.
        if (ShapedType::isDynamic(size) || size == 0)
          return failure();
        expr = expr % size;
      } else {
        expr = expr * stride + offset;
      }
      exprs.push_back(expr);
    }
    return AffineMap::get(map.getNumDims(), 0, exprs, context);
  }
};

struct NormalizeViews : redfuse::impl::NormalizeViewsBase<NormalizeViews> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeViewsPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeViewsPatterns(RewritePatternSet &patterns) {
  patterns.add<FoldCopies, FoldSlices, FoldAddedUnitDims>(
      patterns.getContext());
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
}

AffineMap redfuse::getAccessMap(linalg::LinalgOp op, OpOperand *operand) {
  AffineMap map = op.getMatchingIndexingMap(operand);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  DenseMap<AffineExpr, AffineExpr> plain;
  map.walkExprs([&](AffineExpr expr) {
    auto modulo = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!modulo || modulo.getKind() != AffineExprKind::Mod)
      return;
    auto dim = dyn_cast<AffineDimExpr>(modulo.getLHS());
    auto limit = dyn_cast<AffineConstantExpr>(modulo.getRHS());
    if (!dim || !limit)
      return;
    int64_t extent = extents[dim.getPosition()];
    if (ShapedType::isStatic(extent) && extent <= limit.getValue())
      plain[expr] = dim;
  });
  return map.replace(plain);
}
