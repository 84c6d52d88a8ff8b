//===- RoundedSums.h - sums of which few digits count -----------*- C++ -*-===//
#ifndef REDFUSE_ANALYSIS_ROUNDEDSUMS_H
#define REDFUSE_ANALYSIS_ROUNDEDSUMS_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

namespace redfuse {

/// Whether a sum is rounded to floats of 16 bits or fewer, after what is computed of it
/// element by element, before it is a result, is compared, is reduced again, or is the
/// argument of what makes small errors large (an exponential): only then may a matrix unit
/// add with fewer digits than f32 has, as it does floats of 8 bits.
bool isRoundedBehind(ReduceOp sum);

/// Whether a sum of so many products of factors that are integers of 8 bits, widened or made
/// floats, is the same in i32: sums of i32 are, and those of floats where none is longer.
bool fitsI32(ReduceOp sum, mlir::ValueRange factors, double products);

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_ROUNDEDSUMS_H
