//===- LaggingPivots.h - maxima that are only pivots ------------*- C++ -*-===//
#ifndef REDFUSE_ANALYSIS_LAGGINGPIVOTS_H
#define REDFUSE_ANALYSIS_LAGGINGPIVOTS_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace redfuse {

/// On a `redfuse.finalize` whose results are states once more (a chunk's, merged with
/// that so far): the numbers of those that the program's own finalisation takes for
/// pivots alone, so that they may lag in what is stored, too.
inline constexpr llvm::StringLiteral kLaggingAttr = "redfuse.lagging";

/// The running maximum that a step carries as state number `state`, or null.
mlir::arith::MaximumFOp getRunningMaximum(FoldOp fold, unsigned state);

/// Whether the running maximum that is state number `state` of a fold is only a pivot,
/// so that it may lag behind the maximum: step, merge and finalisation then give the
/// same for any pivot. The largest power of exp(pivot) that any value has; none if it
/// may not.
std::optional<double> findPivotPower(FoldOp fold, FinalizeOp last,
                                     unsigned state);

/// A constant's multiple of a value; a quotient by a constant is one, too.
struct ScaledValue {
  mlir::Value value;
  float by;
};
std::optional<ScaledValue> matchScaled(mlir::Value v);

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_LAGGINGPIVOTS_H
