//===- OperandBox.h - operands that tensor maps describe --------*- C++ -*-===//
//
// One thread of a block copies the tile of an operand to shared memory, if it is a box of
// a tensor that a tensor map describes, or if its rows are neighbouring places of a window
// that goes over the tensor (the driver calls such maps im2col). What is outside of
// the tensor becomes zero: the padding of convolutions, and rows beyond the end.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_GPU_CONTRACTIONS_OPERANDBOX_H
#define REDFUSE_CODEGEN_GPU_CONTRACTIONS_OPERANDBOX_H

#include "redfuse/Codegen/GPU/Contractions/ContractionPlan.h"

namespace redfuse {

struct OperandBox {
  /// A dim of the tensor.
  struct Dim {
    /// Its extent, and elements from one to the next.
    int64_t size = 1, stride = 1;
    /// What each dim of the iteration space adds to the coordinate, and a constant at
    /// the end. Of rows that are numbered linearly none: the number is the coordinate.
    llvm::SmallVector<int64_t> factors;
  };
  /// Where windows begin along a dim: from `lower` on, `step` by `step`, up to the last
  /// element plus `upper`; and what the dims of the sum add to that.
  struct Window {
    int64_t lower = 0, upper = 0, step = 1;
    llvm::SmallVector<int64_t> offset;
  };
  /// Innermost first: elements of the sum, rows, others; of a window elements
  /// of the sum, the dims that it goes over, images.
  llvm::SmallVector<Dim> dims;
  /// One for each dim between the first and the last; none if it is a box.
  llvm::SmallVector<Window> windows;
  /// Elements of the memref before the first.
  int64_t offset = 0;

  bool isWindow() const { return !windows.empty(); }
};

/// Both operands, if tensor maps describe them, with rows of 128 bytes along the dim of
/// the sum that warpgroups read.
std::optional<std::pair<OperandBox, OperandBox>>
findOperandBoxes(const FoundContraction &found, LaunchOp launch,
                 const KernelSpace &space, const WarpgroupOperands &operands);

/// Stages of the mainloop of boxes: each has 128 bytes along `operands.sum`, of which
/// the last may be less, at one place of the other dims of the sum.
int64_t countBoxSteps(const FoundContraction &found, const KernelSpace &space,
                      const WarpgroupOperands &operands);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_CONTRACTIONS_OPERANDBOX_H
