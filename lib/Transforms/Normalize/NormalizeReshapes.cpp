//===- NormalizeReshapes.cpp - reshapes to the function's edges -----------===//
#include "NormalizeCommon.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"

#include "mlir/Dialect/Tensor/Transforms/Transforms.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZERESHAPES
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {

/// Does the reshape only add or drop dims of extent one? Those stay where
/// redfuse-normalize-unit-dims has put them: pushed on, an expand_shape at a
/// result would give every loop nest its unit dims back.
template <typename Reshape>
bool isUnitDimsOnly(Reshape reshape, ArrayRef<int64_t> expandedShape) {
  return llvm::all_of(reshape.getReassociationIndices(),
                      [&](const ReassociationIndices &group) {
                        return llvm::count_if(group, [&](int64_t dim) {
                                 return expandedShape[dim] != 1;
                               }) <= 1;
                      });
}

/// Whether a reshape would make several loops of one that an op scans along, whose prefixes
/// are results: loops of one kind are raised, not of two.
template <typename Reshape>
bool cutsScan(linalg::LinalgOp op, AffineMap map, Reshape reshape) {
  if (!op)
    return false;
  SmallVector<ReassociationIndices> groups = reshape.getReassociationIndices();
  auto kinds = op.getIteratorTypesArray();
  for (auto [expr, group] : llvm::zip_equal(map.getResults(), groups)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || group.size() == 1 ||
        kinds[dim.getPosition()] != utils::IteratorType::reduction)
      continue;
    for (OpOperand &init : op.getDpsInitsMutable())
      if (op.getMatchingIndexingMap(&init).isFunctionOfDim(dim.getPosition()))
        return true;
  }
  return false;
}

bool foldsThrough(OpOperand *operand) {
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(operand->getOwner()))
    if (auto producer = operand->get().getDefiningOp<linalg::LinalgOp>();
        producer && cutsScan(producer,
                             producer.getIndexingMapMatchingResult(
                                 cast<OpResult>(operand->get())),
                             expand))
      return false;
  if (auto collapse = operand->get().getDefiningOp<tensor::CollapseShapeOp>())
    if (auto reader = dyn_cast<linalg::LinalgOp>(operand->getOwner());
        reader &&
        cutsScan(reader, reader.getMatchingIndexingMap(operand), collapse))
      return false;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(operand->getOwner()))
    return !isUnitDimsOnly(expand, expand.getResultType().getShape());
  if (auto collapse = operand->get().getDefiningOp<tensor::CollapseShapeOp>())
    return !isUnitDimsOnly(collapse, collapse.getSrcType().getShape());
  return true;
}

/// What is collapsed and then expanded to the extents it had. Upstream folds
/// the pair where types show that.
struct ExpandOfCollapse : OpRewritePattern<tensor::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::ExpandShapeOp op,
                                PatternRewriter &rewriter) const override {
    auto collapse = op.getSrc().getDefiningOp<tensor::CollapseShapeOp>();
    if (!collapse || collapse.getSrcType() != op.getType() ||
        collapse.getReassociationIndices() != op.getReassociationIndices())
      return rewriter.notifyMatchFailure(op, "does not undo a collapse");
    for (auto [dim, size] : llvm::enumerate(op.getMixedOutputShape())) {
      redfuse::Extent had = redfuse::getExtentOf(collapse.getSrc(), dim);
      redfuse::Extent has = redfuse::getExtentOf(size);
      if (!(redfuse::getExtentProduct(had) == redfuse::getExtentProduct(has)))
        return rewriter.notifyMatchFailure(op, "an extent may be another one");
    }
    rewriter.replaceOp(op, collapse.getSrc());
    return success();
  }
};

/// Reshapes in a row, of which the last has the extents that one before it began with: the
/// elements are in the same order. Einsums of several operands give each product other unit
/// dims.
template <typename Reshape>
struct ReshapesInCircle : OpRewritePattern<Reshape> {
  using OpRewritePattern<Reshape>::OpRewritePattern;
  LogicalResult matchAndRewrite(Reshape op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().hasStaticShape())
      return rewriter.notifyMatchFailure(op, "an extent may be another one");
    Value from = op.getSrc();
    while (from.getType() != op.getType()) {
      Operation *def = from.getDefiningOp();
      if (!isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(def))
        return rewriter.notifyMatchFailure(op, "nothing before has its type");
      from = def->getOperand(0);
    }
    rewriter.replaceOp(op, from);
    return success();
  }
};

struct NormalizeReshapes
    : redfuse::impl::NormalizeReshapesBase<NormalizeReshapes> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeReshapesPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeReshapesPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  linalg::populateFoldReshapeOpsByExpansionPatterns(patterns, foldsThrough);
  tensor::populateReassociativeReshapeFoldingPatterns(patterns);
  patterns.add<ExpandOfCollapse, ReshapesInCircle<tensor::CollapseShapeOp>,
               ReshapesInCircle<tensor::ExpandShapeOp>>(context);
  populateExpansionPatterns(patterns);
  tensor::populateBubbleUpExpandShapePatterns(patterns);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::EmptyOp::getCanonicalizationPatterns(patterns, context);
  tensor::populateFoldTensorEmptyPatterns(patterns);
  linalg::FillOp::getCanonicalizationPatterns(patterns, context);
}
