//===- Selection.h - kernels that select elements of rows -------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_SELECTION_SELECTION_H
#define REDFUSE_CODEGEN_GPU_SELECTION_SELECTION_H

#include "redfuse/Dialect/Redfuse/IR/Selection.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace redfuse {

/// What kernels of selections may rely on.
struct SelectionLimits {
  /// Threads of a warp or wave.
  int64_t warp = 32;
  /// Bytes of shared memory of a block.
  int64_t sharedBytes = 48 * 1024;
  /// Blocks that should fit bound the registers of a thread: on NVIDIA's.
  bool boundsRegisters = false;
};

/// How rows are selected from.
enum class SelectionWay {
  /// A team of threads sorts whole rows in registers.
  SortRows,
  /// A block finds what a threshold lets through, and sorts that.
  FindBest,
  /// Blocks sort pieces of rows, which further launches merge.
  MergeRuns,
};

/// The way that takes the least, of those that the op's extents allow.
SelectionWay chooseWay(SelectOp op, const SelectionLimits &limits);

/// On the launches of a selection: its `number`, and the `way`.
inline constexpr llvm::StringLiteral kSelectionAttr = "redfuse.selection";

/// Makes the kernels of `op`, on buffers, at the end of `device`, and their launches,
/// in place of the op. `number`: of the program's selections, which names have.
void generateSelection(SelectOp op, const SelectionLimits &limits,
                       mlir::gpu::GPUModuleOp device, size_t number);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_SELECTION_SELECTION_H
