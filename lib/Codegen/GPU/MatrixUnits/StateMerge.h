//===- StateMerge.h - states of several splits become one -------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_STATEMERGE_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_STATEMERGE_H

#include "MatrixKernel.h"

namespace redfuse {

/// Merges states, as the fold says, of parts that follow each other, in their order.
class StateMerge : KernelPart {
public:
  using States = llvm::SmallVector<Fragment>;

  explicit StateMerge(MatrixKernel &of) : KernelPart(of) {}

  States merge(llvm::SmallVector<States> parts);
  /// What a thread has of a state in the current layout, without values.
  Fragment shapeOf(unsigned state) const;

private:
  States mergeAtPivot(const struct CommonPivot &how,
                      llvm::ArrayRef<States> parts);
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_STATEMERGE_H
