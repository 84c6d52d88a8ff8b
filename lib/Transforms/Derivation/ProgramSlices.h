//===- ProgramSlices.h - parts of a program for states ----------*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_PROGRAMSLICES_H
#define REDFUSE_LIB_TRANSFORMS_PROGRAMSLICES_H

#include "redfuse/Analysis/StreamedDim.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace redfuse {

/// (argument, axis) of the function.
using ArgumentAxis = std::pair<unsigned, unsigned>;

/// The values from outside that `op` needs; not the sizes along the streamed dim,
/// which its clone takes from the chunk.
void forEachNeeded(mlir::Operation *op, const StreamedDim &dim,
                   llvm::function_ref<void(mlir::Value)> visit);

/// The results of a fold that are components of its state.
mlir::ResultRange getStates(FoldOp fold);
/// The maps of these.
llvm::SmallVector<mlir::AffineMap> getMapsOfStates(FoldOp fold);

/// A copy of `fold`, in which its operands are already those of the new function,
/// with the state alone (`before` is empty), or with outputs that continue from the
/// state `before`: they are computed from the merge of that and the state so far.
FoldOp cloneFold(mlir::OpBuilder &b, FoldOp fold, mlir::ValueRange before);

/// Makes `last` compute from what `first` reads, where it reads results of that at the
/// places where they are made; else it stays as it is.
void joinFinalizes(mlir::OpBuilder &b, FinalizeOp first, FinalizeOp last);

/// Clones ops of the source function into one of the new ones.
struct SliceCloner {
  SliceCloner(mlir::OpBuilder &b, const StreamedDim &dim) : b(b), dim(dim) {}

  mlir::OpBuilder &b;
  const StreamedDim &dim;
  mlir::IRMapping mapping;
  /// The length of the chunk, the index of its first element, and the number of
  /// elements in all; null where the function has none.
  mlir::Value length, offset, total;
  /// Extents of streamed arguments along other axes, where there is no chunk.
  llvm::DenseMap<ArgumentAxis, mlir::Value> extents;
  bool usesOffset = false;
  /// What the slice is for, in messages.
  mlir::Operation *user = nullptr;
  /// What cannot be done, where something stands in the way.
  llvm::StringRef failing = "no state can be carried: ";

  /// Clones what `roots` need, in order; stops at values that are mapped.
  mlir::LogicalResult cloneSlice(llvm::ArrayRef<mlir::Value> roots);
  mlir::LogicalResult clone(mlir::Operation *op);
  mlir::Operation *cloneProgram(mlir::Operation *op);

private:
  mlir::LogicalResult cloneDim(mlir::tensor::DimOp op);
  mlir::OpFoldResult lengthAt(StreamedAxis axis);
  llvm::SmallVector<mlir::OpFoldResult>
  sizesOf(mlir::Value tensor, llvm::ArrayRef<mlir::OpFoldResult> sizes);
  mlir::Value scaled(mlir::Value v, int64_t scale) {
    if (scale == 1)
      return v;
    mlir::Value n = mlir::arith::ConstantIndexOp::create(b, v.getLoc(), scale);
    return mlir::arith::MulIOp::create(b, v.getLoc(), v, n);
  }
};

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_PROGRAMSLICES_H
