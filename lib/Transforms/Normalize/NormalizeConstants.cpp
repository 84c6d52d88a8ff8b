//===- NormalizeConstants.cpp - scalars into bodies -----------------------===//
#include "NormalizeCommon.h"

#include "mlir/IR/Matchers.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZECONSTANTS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {

/// The one scalar that every element of `tensor` equals, made at the builder's
/// position if need be; null if there is none. A scalar is its own.
Value getSplatScalar(OpBuilder &builder, Location loc, Value tensor) {
  if (!isa<ShapedType>(tensor.getType()))
    return tensor;
  DenseElementsAttr elements;
  if (matchPattern(tensor, m_Constant(&elements))) {
    if (!elements.isSplat())
      return {};
    // Of complex numbers it is an array.
    auto scalar = dyn_cast<TypedAttr>(elements.getSplatValue<Attribute>());
    if (!scalar ||
        !arith::ConstantOp::isBuildableWith(scalar, scalar.getType()))
      return {};
    return arith::ConstantOp::create(builder, loc, scalar);
  }
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>())
    return fill.value();
  if (auto splat = tensor.getDefiningOp<tensor::SplatOp>())
    return splat.getInput();
  if (auto elements = tensor.getDefiningOp<tensor::FromElementsOp>())
    if (elements.getElements().size() == 1)
      return elements.getElements().front();
  return {};
}

/// A generic that reads a splat reads the scalar instead. The operand stays,
/// unread: whether it can go (it may be what tells a loop's extent) is decided
/// by the patterns that drop operands.
struct InlineSplatInputs : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "not on tensors");
    bool changed = false;
    for (OpOperand *input : op.getDpsInputOperands()) {
      BlockArgument argument = op.getMatchingBlockArgument(input);
      if (argument.use_empty())
        continue;
      Value scalar = getSplatScalar(rewriter, op.getLoc(), input->get());
      if (!scalar)
        continue;
      rewriter.replaceAllUsesWith(argument, scalar);
      changed = true;
    }
    return success(changed);
  }
};

/// Makes `linalg.fill ins(scalar) outs(empty)` shaped like `tensor`.
Value makeFill(PatternRewriter &rewriter, Location loc, Value scalar,
               Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, tensor);
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
  return linalg::FillOp::create(rewriter, loc, scalar, empty).getResult(0);
}

/// An init that is a splat constant becomes a fill, the only spelling of a
/// scalar init that later layers know.
struct FillSplatInits : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "not on tensors");
    bool changed = false;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      auto type = cast<RankedTensorType>(init.get().getType());
      if (type.getEncoding() || init.get().getDefiningOp<linalg::FillOp>())
        continue;
      Value scalar = getSplatScalar(rewriter, op.getLoc(), init.get());
      if (!scalar)
        continue;
      Value fill = makeFill(rewriter, op.getLoc(), scalar, init.get());
      rewriter.modifyOpInPlace(op, [&] { init.set(fill); });
      changed = true;
    }
    return success(changed);
  }
};

/// A generic that only writes one outside scalar is a fill.
struct GenericToFill : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || op.getNumResults() != 1)
      return rewriter.notifyMatchFailure(op, "not one tensor result");
    OpOperand *init = op.getDpsInitOperand(0);
    if (!op.getMatchingIndexingMap(init).isPermutation())
      return rewriter.notifyMatchFailure(op, "not every element is written");
    Value scalar = op.getBody()->getTerminator()->getOperand(0);
    if (scalar.getParentRegion() == &op.getRegion())
      return rewriter.notifyMatchFailure(op, "the value varies");
    if (!op.getBody()->without_terminator().empty())
      return rewriter.notifyMatchFailure(op, "the body does more");
    auto type = cast<RankedTensorType>(init->get().getType());
    if (type.getEncoding())
      return rewriter.notifyMatchFailure(op, "tensor with an encoding");
    rewriter.replaceOp(op,
                       makeFill(rewriter, op.getLoc(), scalar, init->get()));
    return success();
  }
};

/// Upstream folds a truncation of a constant only where it is exact; at run
/// time it rounds to nearest even, so does this.
struct FoldTruncOfConstant : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    APFloat value(0.0);
    auto type = dyn_cast<FloatType>(op.getType());
    if (!type || !matchPattern(op.getIn(), m_ConstantFloat(&value)))
      return rewriter.notifyMatchFailure(op, "not a scalar constant");
    if (op.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even) !=
        arith::RoundingMode::to_nearest_even)
      return rewriter.notifyMatchFailure(op, "another rounding mode");
    bool losesInfo = false;
    value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, rewriter.getFloatAttr(type, value));
    return success();
  }
};

struct NormalizeConstants
    : redfuse::impl::NormalizeConstantsBase<NormalizeConstants> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeConstantsPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeConstantsPatterns(RewritePatternSet &patterns) {
  patterns.add<InlineSplatInputs, FillSplatInits, GenericToFill,
               FoldTruncOfConstant>(patterns.getContext());
  populateTablePatterns(patterns);
  linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
}
