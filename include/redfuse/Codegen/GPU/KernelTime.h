//===- KernelTime.h - how long a planned kernel takes -----------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_KERNELTIME_H
#define REDFUSE_CODEGEN_GPU_KERNELTIME_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Support/Chips.h"

namespace redfuse {

/// The prediction on a launch.
inline constexpr llvm::StringLiteral kPredictedAttr = "redfuse.predicted";

/// On a module: what its GPU was measured to reach.
inline constexpr llvm::StringLiteral kRatesAttr = "redfuse.rates";

/// That of a module, or what kernels of one GPU reached of its peaks, taken for `chip`'s.
RatesAttr getRates(mlir::Operation *module, const Chip &chip);

/// How long a launch is predicted to take on `chip`, by the plan that it has; null if its
/// kernel is no index program.
PredictedTimeAttr predictTime(LaunchOp launch, const Chip &chip,
                              RatesAttr rates);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_KERNELTIME_H
