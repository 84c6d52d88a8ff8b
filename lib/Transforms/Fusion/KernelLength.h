//===- KernelLength.h - where a kernel ends ---------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_KERNELLENGTH_H
#define REDFUSE_LIB_TRANSFORMS_KERNELLENGTH_H

#include "redfuse/Analysis/FusionSpace.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

namespace redfuse {

/// How much there is to compile as one.
struct KernelLength {
  KernelLength() = default;
  explicit KernelLength(const FusionSpace &space,
                        llvm::ArrayRef<CascadeOp> ops);

  unsigned reductions = 0, operations = 0;
  unsigned inputs = 0; // tensors that are read from outside
};

/// Whether one kernel may have the reductions and operations of two; `op` is of the
/// second, which stays outside otherwise.
bool isShortEnough(KernelLength a, KernelLength b, CascadeOp op,
                   FusionRefusal &why);

/// Whether it reads few enough tensors; more than any part, as one op alone may read
/// hundreds.
bool hasFewInputs(KernelLength fused, KernelLength a, KernelLength b,
                  CascadeOp op, FusionRefusal &why);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_KERNELLENGTH_H
