//===- NormalizeGeneralize.cpp - every structured op as linalg.generic ----===//
#include "NormalizeCommon.h"
#include "NormalizeStructured.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZEGENERALIZE
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {
/// Any named op but linalg.fill. (The upstream pattern set takes fill too, and
/// fill is the one name the other layers want to keep.)
struct GeneralizeNamedOp : OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    if (isa<linalg::GenericOp>(op))
      return rewriter.notifyMatchFailure(op, "already a generic");
    if (isa<linalg::FillOp>(op) &&
        !isa<ShapedType>(op->getOperand(0).getType()))
      return rewriter.notifyMatchFailure(op, "fill of a scalar keeps its name");
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "not on tensors");
    // What a user declares of the body stays with it.
    Attribute combiner = op->getAttr(redfuse::kCombiner);
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, op);
    if (succeeded(generic) && combiner)
      rewriter.modifyOpInPlace(
          *generic, [&] { (*generic)->setAttr(redfuse::kCombiner, combiner); });
    return generic;
  }
};

/// The maximum of a row without NaN starts from NaN upstream: so it is where all of a row
/// is NaN. A softmax of that row is NaN from any start; from the least number the
/// maximum is a fold like others.
static void startFromLeast(RewriterBase &rewriter, linalg::FillOp fill) {
  FloatAttr start;
  if (!matchPattern(fill.getInputs()[0], m_Constant(&start)) ||
      !start.getValue().isNaN())
    return;
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(fill);
  APFloat least = APFloat::getInf(start.getValue().getSemantics(),
                                  /*Negative=*/true);
  Value constant = arith::ConstantOp::create(
      rewriter, fill.getLoc(), rewriter.getFloatAttr(start.getType(), least));
  rewriter.modifyOpInPlace(fill,
                           [&] { fill.getInputsMutable()[0].set(constant); });
}

/// Softmax is a cascade; spelled out, it is found like any other.
struct DecomposeSoftmax : OpRewritePattern<linalg::SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(linalg::SoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics())
      return rewriter.notifyMatchFailure(op, "not on tensors");
    Operation *before = op->getPrevNode();
    FailureOr<SmallVector<Value>> results = op.decomposeOperation(rewriter);
    if (failed(results))
      return rewriter.notifyMatchFailure(op, "upstream cannot decompose it");
    for (Operation *made = before ? before->getNextNode()
                                  : &op->getBlock()->front();
         made != op; made = made->getNextNode())
      if (auto fill = dyn_cast<linalg::FillOp>(made))
        startFromLeast(rewriter, fill);
    rewriter.replaceOp(op, *results);
    return success();
  }
};

struct GenerateToGeneric : OpRewritePattern<tensor::GenerateOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(tensor::GenerateOp op,
                                PatternRewriter &rewriter) const override {
    return linalg::rewriteInDestinationPassingStyle(rewriter, op);
  }
};

/// A choice of whole tensors whose extents may differ is no element-wise op, though
/// it has the trait: what is not chosen decides nothing, and is not read.
struct BranchToChosenTensor : OpRewritePattern<arith::SelectOp> {
  // Before the pattern of element-wise ops.
  BranchToChosenTensor(MLIRContext *context)
      : OpRewritePattern(context, /*benefit=*/2) {}
  LogicalResult matchAndRewrite(arith::SelectOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<RankedTensorType>(op.getType());
    if (!type || type.hasStaticShape())
      return rewriter.notifyMatchFailure(op, "no tensors of open extents");
    if (!op.getCondition().getType().isInteger(1))
      return rewriter.notifyMatchFailure(op, "chooses by element");
    auto yield = [](Value chosen) {
      return [chosen](OpBuilder &b, Location loc) {
        scf::YieldOp::create(b, loc, chosen);
      };
    };
    rewriter.replaceOpWithNewOp<scf::IfOp>(op, op.getCondition(),
                                           yield(op.getTrueValue()),
                                           yield(op.getFalseValue()));
    return success();
  }
};

struct NormalizeGeneralize
    : redfuse::impl::NormalizeGeneralizeBase<NormalizeGeneralize> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeGeneralizePatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeGeneralizePatterns(RewritePatternSet &patterns) {
  patterns.add<GeneralizeNamedOp, DecomposeSoftmax, GenerateToGeneric,
               BranchToChosenTensor>(patterns.getContext());
  populateConcatPatterns(patterns);
  populateStructuredPatterns(patterns);
  populateWeightedSumPatterns(patterns);
  linalg::populateElementwiseToLinalgConversionPatterns(patterns);
}
