//===- Pivots.h - maxima that exponents are relative to ---------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_PIVOTS_H
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_PIVOTS_H

#include "redfuse/Analysis/LaggingPivots.h"

namespace redfuse {

/// On an exponential of a difference, or of a constant's multiple of one: what is
/// subtracted is a running maximum (or 0 where that is infinite), and every use of
/// the exponential is relative to it.
inline constexpr llvm::StringLiteral kPivotAttr = "redfuse.pivot";

/// The pivot of an exponential that has kPivotAttr.
mlir::Value getPivotOfExponential(mlir::Operation *exponential);

/// Where the running maximum of a fold is one of positive multiples, the state
/// becomes the maximum of what is multiplied: c * s - max(c * s) is
/// c * (s - max(s)), which is 0 at the maximum whatever is rounded. Marks the
/// exponentials of distances from running maxima.
void pullPivots(KernelOp kernel);

/// On a running maximum that is only a pivot, in the step of a fold: by what a
/// distance from it is multiplied to be a power of 2.
inline constexpr llvm::StringLiteral kLazyAttr = "redfuse.lazy";

/// How far, in powers of 2, values may be above a pivot that stays.
inline constexpr float kHeadroom = 8;

/// After pullPivots: marks running maxima that may lag behind, because step, merge
/// and finalisation give the same for any pivot.
void markLazyPivots(KernelOp kernel);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_PIVOTS_H
