//===- RegisterPlan.h - plans of kernels in registers -----------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_REGISTERPLAN_H
#define REDFUSE_CODEGEN_GPU_REGISTERPLAN_H

#include "redfuse/Analysis/FusionCost.h"
#include "redfuse/Codegen/GPU/Registers/RegisterKernel.h"

namespace redfuse {

/// On a launch, by redfuse-plan-registers: registers hold the tiles of its kernel,
/// dealt out to threads as this layout says.
inline constexpr llvm::StringLiteral kRegistersAttr = "redfuse.registers";

/// What kernels in registers may rely on; without a chip, on what all have.
DeviceLimits limitsOf(const Chip *chip);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_REGISTERPLAN_H
