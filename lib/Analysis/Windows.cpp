//===- Windows.cpp - reads along several dims at once ---------------------===//
#include "redfuse/Analysis/Windows.h"

#include "redfuse/Analysis/CostConstants.h"

using namespace mlir;
using namespace redfuse;

AffineExpr redfuse::withoutOffset(AffineExpr index) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(index);
  bool isOffset = sum && sum.getKind() == AffineExprKind::Add &&
                  isa<AffineConstantExpr>(sum.getRHS());
  return isOffset ? sum.getLHS() : index;
}

SmallBitVector redfuse::findTaps(ArrayRef<AffineMap> inputs,
                                 const SmallBitVector &reduced,
                                 function_ref<double(unsigned)> extentOf) {
  SmallBitVector none(reduced.size());
  double taps = 1;
  bool hasWindow = false;
  for (unsigned d : reduced.set_bits()) {
    taps *= extentOf(d);
    bool isTap = llvm::any_of(inputs, [&](AffineMap map) {
      return llvm::any_of(map.getResults(), [&](AffineExpr e) {
        SmallBitVector others =
            getDimsOf(AffineMap::get(map.getNumDims(), map.getNumSymbols(), e));
        return others.test(d) && others.count() > 1;
      });
    });
    hasWindow |= isTap;
    if (!isTap && extentOf(d) > kMostChannels)
      return none;
  }
  return hasWindow && taps <= kMostTaps ? reduced : none;
}

std::optional<unsigned>
redfuse::findWindowDim(ArrayRef<AffineMap> inputs, const SmallBitVector &taps,
                       std::optional<unsigned> contiguous) {
  std::optional<unsigned> found;
  for (AffineMap map : inputs)
    for (AffineExpr e : map.getResults()) {
      SmallBitVector dims =
          getDimsOf(AffineMap::get(map.getNumDims(), map.getNumSymbols(), e));
      if (!dims.anyCommon(taps))
        continue;
      dims.reset(taps);
      for (unsigned d : dims.set_bits())
        if (d != contiguous && (!found || d > *found))
          found = d;
    }
  return found;
}

/// What neighbours along `dim` are apart in `expr`.
static double getStrideAlong(AffineExpr expr, unsigned dim) {
  double stride = 1;
  expr.walk([&](AffineExpr inner) {
    auto mul = dyn_cast<AffineBinaryOpExpr>(inner);
    if (!mul || mul.getKind() != AffineExprKind::Mul ||
        !mul.getLHS().isFunctionOfDim(dim))
      return;
    if (auto by = dyn_cast<AffineConstantExpr>(mul.getRHS()))
      stride *= std::abs(double(by.getValue()));
  });
  return stride;
}

double redfuse::countValues(AffineExpr expr, unsigned numDims,
                            function_ref<double(unsigned)> counts) {
  double all = 1, range = 1;
  for (unsigned d = 0; d < numDims; ++d) {
    if (!expr.isFunctionOfDim(d))
      continue;
    all *= counts(d);
    range += getStrideAlong(expr, d) * (counts(d) - 1);
  }
  return std::min(all, range);
}

double redfuse::countWindowElements(ArrayRef<AffineMap> inputs,
                                    const SmallBitVector &taps,
                                    function_ref<double(unsigned)> extentOf,
                                    unsigned dim, double results) {
  double most = 0;
  for (AffineMap map : inputs) {
    double elements = 1;
    for (AffineExpr e : map.getResults())
      elements *= countValues(e, map.getNumDims(), [&](unsigned d) {
        return d == dim ? results : taps.test(d) ? extentOf(d) : 1.0;
      });
    most = std::max(most, elements);
  }
  return most;
}
