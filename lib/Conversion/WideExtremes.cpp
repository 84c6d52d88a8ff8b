//===- WideExtremes.cpp - maxima and minima of f64 on a GPU ---------------===//
//
// NVIDIA GPUs have no instruction for a maximum of two f64: it takes two comparisons
// and four selects of 32 bits. As a comparison of the program's own it takes as many
// or fewer, and ptxas 12.8 joins the halves of `max.f64` and of the NaN that
// follows it wrongly in long chains (the high word of one operand, zeros for the
// low one).
//
//===----------------------------------------------------------------------===//
#include "WideExtremes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace {
/// x where it is beyond y or NaN, else y. Where signs of zeros matter and both are
/// equal, their bits together are the zero that is wanted.
template <typename Op>
struct WideExtreme : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    constexpr bool isMaximum = std::is_same_v<Op, arith::MaximumFOp>;
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF64())
      return rewriter.notifyMatchFailure(op, "GPUs have this one");
    Location loc = op.getLoc();
    Value x = op.getLhs(), y = op.getRhs();
    auto compare = [&](arith::CmpFPredicate predicate, Value a, Value b) {
      return arith::CmpFOp::create(rewriter, loc, predicate, a, b);
    };
    Value beyond = compare(isMaximum ? arith::CmpFPredicate::OGT
                                     : arith::CmpFPredicate::OLT,
                           x, y);
    Value isNaN = compare(arith::CmpFPredicate::UNO, x, x);
    Value takesX = arith::OrIOp::create(rewriter, loc, beyond, isNaN);
    Value result = arith::SelectOp::create(rewriter, loc, takesX, x, y);
    if (!bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::nsz)) {
      Type bits = rewriter.getI64Type();
      if (auto shaped = dyn_cast<ShapedType>(type))
        bits = shaped.clone(bits);
      Value xBits = arith::BitcastOp::create(rewriter, loc, bits, x);
      Value yBits = arith::BitcastOp::create(rewriter, loc, bits, y);
      Value both =
          isMaximum
              ? arith::AndIOp::create(rewriter, loc, xBits, yBits).getResult()
              : arith::OrIOp::create(rewriter, loc, xBits, yBits).getResult();
      both = arith::BitcastOp::create(rewriter, loc, type, both);
      result = arith::SelectOp::create(rewriter, loc,
                                       compare(arith::CmpFPredicate::OEQ, x, y),
                                       both, result);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void redfuse::populateWideExtremesPatterns(RewritePatternSet &patterns) {
  patterns.add<WideExtreme<arith::MaximumFOp>, WideExtreme<arith::MinimumFOp>>(
      patterns.getContext());
}
