//===- WindowPoints.cpp - where affine expressions have their ends --------===//
#include "WindowPoints.h"
#include "redfuse/Analysis/CostConstants.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace redfuse;
using llvm::DynamicAPInt;

static int64_t getPositive(AffineExpr expr) {
  return cast<AffineConstantExpr>(expr).getValue();
}

std::map<unsigned, Period> redfuse::getPeriods(AffineExpr expr) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return {{dim.getPosition(), {DynamicAPInt(1), DynamicAPInt(1)}}};
  if (isa<AffineConstantExpr>(expr))
    return {};
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::map<unsigned, Period> periods = getPeriods(binary.getLHS());
  if (expr.getKind() == AffineExprKind::Add) {
    for (auto [dim, other] : getPeriods(binary.getRHS())) {
      auto [it, isNew] = periods.try_emplace(dim, other);
      if (isNew)
        continue;
      Period &period = it->second;
      DynamicAPInt common = llvm::lcm(period.length, other.length);
      period.growth = period.growth * (common / period.length) +
                      other.growth * (common / other.length);
      period.length = common;
    }
    return periods;
  }
  DynamicAPInt by(getPositive(binary.getRHS()));
  for (auto &[dim, period] : periods) {
    if (expr.getKind() == AffineExprKind::Mul) {
      period.growth *= by;
      continue;
    }
    // So many periods grow by a multiple of the divisor.
    DynamicAPInt times = by / llvm::gcd(by, llvm::abs(period.growth));
    period.length *= times;
    if (expr.getKind() == AffineExprKind::Mod)
      period.growth = DynamicAPInt(0);
    else
      period.growth = period.growth * times / by;
  }
  return periods;
}

std::optional<int64_t>
redfuse::countPoints(AffineExpr expr, ArrayRef<int64_t> extents, int64_t most) {
  DynamicAPInt count(1);
  for (const auto &[dim, period] : getPeriods(expr)) {
    DynamicAPInt both = period.length * 2;
    if (!ShapedType::isDynamic(extents[dim]))
      both = std::min(both, DynamicAPInt(extents[dim]));
    count *= both;
  }
  if (count > most)
    return std::nullopt;
  return int64fromDynamicAPInt(count);
}

DynamicAPInt redfuse::getMagnitude(AffineExpr expr,
                                   ArrayRef<DynamicAPInt> last) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return last[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return llvm::abs(DynamicAPInt(constant.getValue()));
  auto binary = cast<AffineBinaryOpExpr>(expr);
  DynamicAPInt left = getMagnitude(binary.getLHS(), last);
  DynamicAPInt right = getMagnitude(binary.getRHS(), last);
  if (expr.getKind() == AffineExprKind::Add)
    return left + right;
  return expr.getKind() == AffineExprKind::Mul ? left * right
                                               : std::max(left, right);
}

/// The value at a point, with the constants as they are: an AffineMap's
/// constantFold makes an attribute of every one.
static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> at) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return at[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t left = evaluate(binary.getLHS(), at);
  int64_t right = evaluate(binary.getRHS(), at);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return left + right;
  case AffineExprKind::Mul:
    return left * right;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(left, right);
  case AffineExprKind::CeilDiv:
    return llvm::divideCeilSigned(left, right);
  default:
    assert(expr.getKind() == AffineExprKind::Mod);
    return llvm::mod(left, right);
  }
}

std::optional<std::pair<int64_t, int64_t>>
redfuse::findEnds(AffineExpr expr, ArrayRef<int64_t> extents) {
  std::optional<int64_t> points = countPoints(expr, extents, kMostTriedPoints);
  if (!points)
    return std::nullopt;
  struct Axis {
    unsigned dim;
    int64_t count, skipped; // behind the first half of `count`
  };
  SmallVector<Axis> axes;
  for (const auto &[dim, period] : getPeriods(expr)) {
    int64_t extent = extents[dim];
    DynamicAPInt count = std::min(period.length * 2, DynamicAPInt(extent));
    axes.push_back({dim, int64fromDynamicAPInt(count),
                    extent - int64fromDynamicAPInt(count)});
  }
  SmallVector<int64_t> at(extents.size(), 0);
  std::pair<int64_t, int64_t> ends{INT64_MAX, INT64_MIN};
  for (int64_t point = 0; point < *points; ++point) {
    int64_t rest = point;
    for (const Axis &axis : axes) {
      int64_t k = rest % axis.count;
      rest /= axis.count;
      at[axis.dim] = k < axis.count / 2 ? k : k + axis.skipped;
    }
    int64_t value = evaluate(expr, at);
    ends = {std::min(ends.first, value), std::max(ends.second, value)};
  }
  return ends;
}
