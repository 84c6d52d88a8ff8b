//===- WindowPoints.h - where affine expressions end ------------*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_WINDOWPOINTS_H
#define REDFUSE_LIB_TRANSFORMS_WINDOWPOINTS_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/DynamicAPInt.h"

#include <map>
#include <optional>

namespace redfuse {

/// What an expression of dims does along one of them: where the dim is larger by
/// `length`, the expression is larger by `growth`.
struct Period {
  llvm::DynamicAPInt length, growth;
};

/// The periods of a pure affine expression whose divisors are positive, by the
/// dims that it has. Along the points that are a multiple of the period apart
/// the expression is a line, lowest or highest at an end of it: so its least and
/// its largest value are among the first and the last `length` indices of each
/// dim.
std::map<unsigned, Period> getPeriods(mlir::AffineExpr expr);

/// How many points these are, for dims of `extents` (or kDynamic); nothing if
/// more than `most`.
std::optional<int64_t> countPoints(mlir::AffineExpr expr,
                                   llvm::ArrayRef<int64_t> extents,
                                   int64_t most);

/// What the absolute values of the expression, and of all that it is made of, do
/// not exceed, where dim d goes from 0 to `last[d]`.
llvm::DynamicAPInt getMagnitude(mlir::AffineExpr expr,
                                llvm::ArrayRef<llvm::DynamicAPInt> last);

/// The least and the largest value of an expression whose magnitude has 64 bits,
/// over dims of static extents; nothing if that takes too many points.
std::optional<std::pair<int64_t, int64_t>>
findEnds(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> extents);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_WINDOWPOINTS_H
