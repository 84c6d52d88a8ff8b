//===- PackedPlan.h - how operands of a product are packed ------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_CPU_PACKEDPLAN_H
#define REDFUSE_LIB_CODEGEN_CPU_PACKEDPLAN_H

#include "redfuse/Codegen/Common/SoleContraction.h"

namespace redfuse {

/// On a launch, by redfuse-plan-packing: a #redfuse.packing_plan.
inline constexpr llvm::StringLiteral kPackingAttr = "redfuse.packing";

/// How the elements of an operand are read that is packed with the sum outermost.
enum class PackAccess {
  /// Neighbours along the last of its own dims are adjacent in memory.
  Vectors,
  /// Neighbours along the last dim of the sum are: squares are transposed.
  Transposed,
  /// None are that would fill a vector.
  Elements,
};

/// Whether a factor is computed of the elements of one argument alone, `main`, in which
/// the numbers of the sum are adjacent where its memory is: then they need not be told
/// apart.
bool isFlat(const FoundContraction &found, mlir::BlockArgument main,
            mlir::Value factor);

/// Of a factor of `found`, whose own dims are `ofDims`, in vectors of `lanes`.
PackAccess chooseAccess(const FoundContraction &found, const KernelSpace &space,
                        mlir::Value factor, llvm::ArrayRef<unsigned> ofDims,
                        unsigned lanes);

/// Whether a microkernel can read what it does where that lies: elements of one argument,
/// perhaps extended, in vectors along the dim that it wants them along.
bool canRead(Microkernel kind, const FoundContraction &found,
             const KernelSpace &space, unsigned lanes);

/// Whether the kernel's contraction can be packed; why not otherwise.
bool canPack(const FoundContraction &found, std::string &why);

/// The space that blocks of the plan's tiles walk; nothing, and why, where the plan is
/// not for this kernel.
std::optional<KernelSpace> applyPacking(const FoundContraction &found,
                                        const KernelSpace &space,
                                        PackingPlanAttr plan, unsigned lanes,
                                        std::string &why);

/// The plan that takes the least time; nothing where that is to read operands where they
/// lie.
std::optional<PackingPlanAttr> planPacking(const FoundContraction &found,
                                           const KernelSpace &space,
                                           TargetAttr target);

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_CPU_PACKEDPLAN_H
