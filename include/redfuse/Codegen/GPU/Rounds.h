//===- Rounds.h - loops of the host as one kernel ---------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_ROUNDS_H
#define REDFUSE_CODEGEN_GPU_ROUNDS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace redfuse {

/// On a loop, by redfuse-plan-rounds: one kernel makes all of its rounds, in clusters as this
/// plan says.
inline constexpr llvm::StringLiteral kPersistentAttr = "redfuse.persistent";

/// Threads of a warp of a GPU that has clusters.
inline constexpr int64_t kRoundWarp = 32;

/// Adds the allocations and arguments of which `v` may be a view, through what loops carry. Fails
/// where that is not known.
llvm::LogicalResult collectBuffers(mlir::Value v,
                                   llvm::SmallSetVector<mlir::Value, 4> &into);

/// Whether an op of a loop's body may run in a kernel as well as on the host: it computes
/// numbers, or makes views.
bool isOfViews(mlir::Operation *op);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_ROUNDS_H
