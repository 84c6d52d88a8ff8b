//===- LinearExpr.cpp - affine expressions as coefficients ----------------===//
#include "redfuse/Dialect/Redfuse/IR/LinearExpr.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;

/// Adds `factor` * `expr` to `sum`; false where it is not linear.
static bool accumulate(AffineExpr expr, int64_t factor, LinearExpr &sum) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    int64_t &c = sum.coefficients[dim.getPosition()];
    return !llvm::AddOverflow(c, factor, c);
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    int64_t product;
    return !llvm::MulOverflow(factor, constant.getValue(), product) &&
           !llvm::AddOverflow(sum.constant, product, sum.constant);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return accumulate(binary.getLHS(), factor, sum) &&
           accumulate(binary.getRHS(), factor, sum);
  if (expr.getKind() != AffineExprKind::Mul)
    return false;
  auto scale = dyn_cast<AffineConstantExpr>(binary.getRHS());
  int64_t product;
  return scale && !llvm::MulOverflow(factor, scale.getValue(), product) &&
         accumulate(binary.getLHS(), product, sum);
}

std::optional<LinearExpr> redfuse::getLinearExpr(AffineExpr expr,
                                                 unsigned numDims) {
  LinearExpr sum;
  sum.coefficients.assign(numDims, 0);
  if (!accumulate(expr, 1, sum))
    return std::nullopt;
  return sum;
}

std::pair<int64_t, int64_t>
LinearExpr::getRange(ArrayRef<int64_t> extents) const {
  int64_t low = constant, high = constant;
  for (auto [c, extent] : llvm::zip_equal(coefficients, extents))
    (c < 0 ? low : high) += c * (extent - 1);
  return {low, high};
}
