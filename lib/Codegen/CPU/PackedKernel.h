//===- PackedKernel.h - the kernel of a packed product ----------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_CPU_PACKEDKERNEL_H
#define REDFUSE_LIB_CODEGEN_CPU_PACKEDKERNEL_H

#include "PackedPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace redfuse {

/// Generates the function of a launch as `plan` says; `space` becomes that of the plan's
/// blocks. Fails, with an error at the launch, where the plan is not for this kernel.
mlir::FailureOr<mlir::func::FuncOp>
generatePacked(KernelOp kernel, LaunchOp launch, KernelSpace &space,
               mlir::Attribute plan, unsigned lanes);

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_CPU_PACKEDKERNEL_H
