//===- NormalizePowers.cpp - powers by small whole numbers ----------------===//
#include "NormalizeCommon.h"

#include "redfuse/Analysis/CostConstants.h"

#include "mlir/IR/Matchers.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZEPOWERS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;

namespace {

/// The exponent, if it is a whole constant (scalar or splat).
std::optional<int64_t> getWholeExponent(Value exponent) {
  APInt whole;
  if (matchPattern(exponent, m_ConstantInt(&whole)))
    return whole.getSignificantBits() <= 32
               ? std::optional<int64_t>(whole.getSExtValue())
               : std::nullopt;
  APFloat real(0.0);
  if (!matchPattern(exponent, m_ConstantFloat(&real)) || !real.isInteger())
    return std::nullopt;
  bool exact = false;
  APSInt rounded(32, /*isUnsigned=*/false);
  if (real.convertToInteger(rounded, APFloat::rmTowardZero, &exact) !=
      APFloat::opOK)
    return std::nullopt;
  return rounded.getExtValue();
}

template <typename PowOp>
struct PowerToProduct : OpRewritePattern<PowOp> {
  using OpRewritePattern<PowOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<int64_t> exponent = getWholeExponent(op.getRhs());
    if (!exponent || std::abs(*exponent) > redfuse::kLargestExponent)
      return rewriter.notifyMatchFailure(op, "no small whole exponent");
    Location loc = op.getLoc();
    Type type = op.getType();
    auto constant = [&](double value) -> Value {
      Attribute attr = rewriter.getFloatAttr(getElementTypeOrSelf(type), value);
      if (auto shaped = dyn_cast<ShapedType>(type))
        attr = DenseElementsAttr::get(shaped, attr);
      return arith::ConstantOp::create(rewriter, loc, cast<TypedAttr>(attr));
    };
    auto flags = op.getFastmath();
    Value result, square = op.getLhs();
    for (int64_t left = std::abs(*exponent); left; left >>= 1) {
      if (left & 1)
        result =
            result ? arith::MulFOp::create(rewriter, loc, result, square, flags)
                         .getResult()
                   : square;
      if (left > 1)
        square = arith::MulFOp::create(rewriter, loc, square, square, flags);
    }
    if (!result)
      result = constant(1.0);
    else if (*exponent < 0)
      result =
          arith::DivFOp::create(rewriter, loc, constant(1.0), result, flags);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct NormalizePowers : redfuse::impl::NormalizePowersBase<NormalizePowers> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizePowersPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizePowersPatterns(RewritePatternSet &patterns) {
  patterns.add<PowerToProduct<math::FPowIOp>, PowerToProduct<math::PowFOp>>(
      patterns.getContext());
}
