//===- RowSums.h - sums of rows, kept by thread -----------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_ROWSUMS_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_ROWSUMS_H

#include "PivotUpdates.h"

namespace redfuse {

/// States that are sums of rows, kept by thread during the fold: s' = s * f + sum of x,
/// or s + sum of x. The sums of each thread, carried on by themselves, are those of the
/// row in the end. Their factors are the same in all threads of a row, because nothing
/// else sees what differs.
class RowSums : KernelPart {
public:
  explicit RowSums(MatrixKernel &of) : KernelPart(of) {}

  void find();
  /// The states with the reductions that are added to them.
  llvm::ArrayRef<std::pair<unsigned, ReduceOp>> getSums() const { return sums; }
  /// Sums that were kept by thread become those of rows.
  void complete(llvm::DenseMap<unsigned, Fragment> &states);

private:
  llvm::SmallVector<std::pair<unsigned, ReduceOp>> sums;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_ROWSUMS_H
