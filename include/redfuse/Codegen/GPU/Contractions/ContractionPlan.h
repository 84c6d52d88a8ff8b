//===- ContractionPlan.h - a sum of products in tiles -----------*- C++ -*-===//
//
// A kernel that is one sum of products and what is computed of it element by element
// is generated with tiles of both operands in shared memory. The plan says how large the
// tiles are; nothing else depends on the processor.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONPLAN_H
#define REDFUSE_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONPLAN_H

#include "redfuse/Codegen/Common/KernelGenerator.h"

namespace redfuse {

/// On a launch, by redfuse-plan-contractions: a #redfuse.contraction_plan.
inline constexpr llvm::StringLiteral kContractionAttr = "redfuse.contraction";

/// The contraction of a kernel.
struct FoundContraction {
  IndexProgramOpInterface op;
  KernelPrograms programs;

  const LoopNest &nest() const {
    return programs.find(op)->second->getNests().front();
  }
  const MatrixForm &form() const { return *nest().contraction->matrix; }
};

/// The kernel's iteration space, of which a block walks what its plan says.
KernelSpace withoutSchedule(KernelSpace space);

/// Finds it, in a space without a schedule. Nothing, and why, where the kernel is
/// something else or no instruction makes it.
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
