//===- ProductPlan.h - tiles for matrix instructions ------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_PRODUCTPLAN_H
#define REDFUSE_CODEGEN_GPU_PRODUCTPLAN_H

#include "redfuse/Codegen/Common/KernelGenerator.h"

namespace redfuse {

/// On a launch, by redfuse-plan-products: matrix instructions make its kernel's
/// contractions, of operands wherever they are, in these tiles by iteration dim
/// instead of the schedule's. Without a schedule there are none.
inline constexpr llvm::StringLiteral kProductTilesAttr =
    "redfuse.product_tiles";

/// The tiles, where matrix instructions are better than registers; or none.
mlir::FailureOr<std::optional<llvm::SmallVector<int64_t>>>
planProducts(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
             int64_t units, const Chip &chip);

/// The space with tiles that a launch asks for; fails, at the launch, where they are
/// not tiles of this space.
mlir::FailureOr<KernelSpace> takeProductTiles(LaunchOp launch,
                                              KernelSpace space);

/// Elements that a thread moves at a time: 16 bytes of the widest tensor.
unsigned chooseLanes(LaunchOp launch);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_PRODUCTPLAN_H
