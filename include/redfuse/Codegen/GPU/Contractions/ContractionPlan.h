//===- ContractionPlan.h - a sum of products in tiles -----------*- C++ -*-===//
//
// A kernel that is one sum of products and what is computed of it element by element
// is generated with tiles of both operands in shared memory. The plan says how large the
// tiles are; nothing else depends on the processor.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONPLAN_H
#define REDFUSE_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONPLAN_H

#include "redfuse/Codegen/Common/SoleContraction.h"

namespace redfuse {

/// On a launch, by redfuse-plan-contractions: a #redfuse.contraction_plan.
inline constexpr llvm::StringLiteral kContractionAttr = "redfuse.contraction";

/// Finds the contraction of a kernel, in a space without a schedule. Nothing, and why,
/// where the kernel is something else or no instruction makes it.
std::optional<FoundContraction>
findContraction(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                const Chip &chip, std::string &why);

/// The tiles that take the least time of so many multiprocessors; nothing where others
/// are better.
std::optional<ContractionPlanAttr>
planContraction(const FoundContraction &found, const KernelSpace &space,
                int64_t units, const Chip &chip);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONPLAN_H
