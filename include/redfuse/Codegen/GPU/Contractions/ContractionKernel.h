//===- ContractionKernel.h - sums of products by warps ----------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONKERNEL_H
#define REDFUSE_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONKERNEL_H

#include "redfuse/Codegen/GPU/Contractions/ContractionPlan.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace redfuse {

/// Generates the kernel of a launch in the tiles of `plan`. Fails, with an error at the
/// launch, where it is no contraction that the chip has instructions for.
mlir::LogicalResult
generateContraction(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                    ContractionPlanAttr plan, const Chip &chip,
                    mlir::gpu::GPUModuleOp device, llvm::StringRef name);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONKERNEL_H
