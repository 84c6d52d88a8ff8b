//===- NormalizeExtents.cpp - arithmetic on extents that is known ---------===//
#include "NormalizeCommon.h"
#include "redfuse/Dialect/Redfuse/Utils/Extents.h"

namespace redfuse {
#define GEN_PASS_DEF_NORMALIZEEXTENTS
#include "redfuse/Transforms/Passes.h.inc"
} // namespace redfuse

using namespace mlir;
using redfuse::Extent;
using redfuse::ExtentProduct;

namespace {

ExtentProduct productOf(Value scalar) {
  return redfuse::getExtentProduct(redfuse::getExtentOf(scalar));
}

bool isConstant(const ExtentProduct &product) {
  return product.factors.empty();
}

/// The comparison with both sides exchanged.
arith::CmpIPredicate mirrored(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::slt:
    return P::sgt;
  case P::sle:
    return P::sge;
  case P::sgt:
    return P::slt;
  case P::sge:
    return P::sle;
  default:
    return predicate;
  }
}

/// Whether `product <predicate> bound` holds for all products of extents;
/// nothing if that depends on them.
std::optional<bool> compareAll(arith::CmpIPredicate predicate, int64_t bound) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::slt:
    return bound <= 0 ? std::optional(false) : std::nullopt;
  case P::sge:
    return bound <= 0 ? std::optional(true) : std::nullopt;
  case P::sle:
  case P::eq:
    return bound < 0 ? std::optional(false) : std::nullopt;
  case P::sgt:
  case P::ne:
    return bound < 0 ? std::optional(true) : std::nullopt;
  default:
    return std::nullopt;
  }
}

struct CompareExtents : OpRewritePattern<arith::CmpIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::CmpIOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getLhs().getType().isIntOrIndex())
      return rewriter.notifyMatchFailure(op, "compares no scalars");
    ExtentProduct left = productOf(op.getLhs()), right = productOf(op.getRhs());
    std::optional<bool> known;
    if (left == right)
      known =
          arith::applyCmpPredicate(op.getPredicate(), APInt(1, 0), APInt(1, 0));
    else if (isConstant(right) && left.isSize())
      known = compareAll(op.getPredicate(), right.constant);
    else if (isConstant(left) && right.isSize())
      known = compareAll(mirrored(op.getPredicate()), left.constant);
    if (!known)
      return rewriter.notifyMatchFailure(op, "depends on the extents");
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(
        op, rewriter.getBoolAttr(*known));
    return success();
  }
};

/// A division by zero has no result, so the divisor's factors are not 0.
template <typename Division>
struct DivideExtents : OpRewritePattern<Division> {
  using OpRewritePattern<Division>::OpRewritePattern;
  LogicalResult matchAndRewrite(Division op,
                                PatternRewriter &rewriter) const override {
    if (!op.getType().isIntOrIndex())
      return rewriter.notifyMatchFailure(op, "divides no scalars");
    ExtentProduct left = productOf(op.getLhs()), right = productOf(op.getRhs());
    if (isConstant(left) || !left.isSize() || !right.isSize())
      return rewriter.notifyMatchFailure(op, "not of numbers of elements");
    std::optional<ExtentProduct> quotient = redfuse::divide(left, right);
    if (!quotient)
      return rewriter.notifyMatchFailure(op, "not a factor of the other");
    Location loc = op.getLoc();
    Value result;
    if (quotient->constant != 1 || isConstant(*quotient))
      result =
          arith::ConstantIndexOp::create(rewriter, loc, quotient->constant);
    for (const Extent &extent : quotient->factors) {
      Value factor = redfuse::materialize(rewriter, loc, extent);
      result = result ? arith::MulIOp::create(rewriter, loc, result, factor)
                      : factor;
    }
    if (!op.getType().isIndex())
      result = arith::IndexCastOp::create(rewriter, loc, op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct NormalizeExtents
    : redfuse::impl::NormalizeExtentsBase<NormalizeExtents> {
  void runOnOperation() override {
    if (!redfuse::applyPopulated(getOperation(),
                                 redfuse::populateNormalizeExtentsPatterns))
      signalPassFailure();
  }
};

} // namespace

void redfuse::populateNormalizeExtentsPatterns(RewritePatternSet &patterns) {
  patterns
      .add<CompareExtents, DivideExtents<arith::DivSIOp>,
           DivideExtents<arith::DivUIOp>, DivideExtents<arith::FloorDivSIOp>>(
          patterns.getContext());
}
