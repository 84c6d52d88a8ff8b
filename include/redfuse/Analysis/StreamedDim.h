//===- StreamedDim.h - one dim of arguments, all the way --------*- C++ -*-===//
#ifndef REDFUSE_ANALYSIS_STREAMEDDIM_H
#define REDFUSE_ANALYSIS_STREAMEDDIM_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace redfuse {

/// Where a tensor has the dim: at `position` of its shape, with `scale` elements
/// for each element of the dim (more than 1 where inner dims were collapsed into
/// it).
struct StreamedAxis {
  unsigned position;
  int64_t scale = 1;
  bool operator==(const StreamedAxis &other) const {
    return position == other.position && scale == other.scale;
  }
};

/// A dim of a function's arguments followed through its body: which tensors have
/// it, and as which iteration dim cascades walk it. Arguments that are walked
/// together have it together, wherever the search started.
class StreamedDim {
public:
  /// Why a dim cannot be followed, and at which op.
  struct Obstacle {
    mlir::Operation *op = nullptr;
    std::string reason;
  };

  /// Follows the (argument, axis) pairs `arguments`, and the iteration dims of
  /// `ops`, which are known to be one dim.
  static mlir::FailureOr<StreamedDim>
  follow(mlir::func::FuncOp func,
         llvm::ArrayRef<std::pair<unsigned, unsigned>> arguments, Obstacle &why,
         const llvm::DenseMap<mlir::Operation *, StreamedAxis> &ops =
             llvm::DenseMap<mlir::Operation *, StreamedAxis>());

  /// The iteration dims that are one dim with an argument's axis, of a program that need
  /// not be fused yet; those that were found where the dim cannot be followed to its end.
  static llvm::DenseMap<mlir::Operation *, StreamedAxis>
  trace(mlir::func::FuncOp func, std::pair<unsigned, unsigned> argument);

  std::optional<StreamedAxis> find(mlir::Value tensor) const;
  /// The iteration dim of `op` that is this dim.
  std::optional<unsigned> getDimOf(mlir::Operation *op) const;
  /// What goes over the whole dim inside of a body, a reduction or a scan: where
  /// a chunk is all that there is, nothing may. Null if nothing does.
  mlir::Operation *findWalk(mlir::Operation *op) const;
  /// Elements of that iteration dim for each element of the dim.
  int64_t getScaleIn(mlir::Operation *op) const;
  /// The axis of each function argument that has the dim.
  llvm::SmallVector<std::pair<unsigned, unsigned>> getArguments() const;
  /// The length, if an argument says it statically; else kDynamic.
  int64_t getLength() const;
  /// The cascades that reduce over the dim, or scan along it, in order.
  llvm::ArrayRef<CascadeOp> getReducing() const { return reducing; }

  /// How long a part of the dim is; kDynamic, as at first, where that is open.
  int64_t getPartLength() const { return partLength; }
  void setPartLength(int64_t length) { partLength = length; }
  /// The type of `tensor` with a part of the dim.
  mlir::RankedTensorType getOpenType(mlir::Value tensor) const;

private:
  explicit StreamedDim(mlir::func::FuncOp func) : func(func) {}

  bool mark(mlir::Value tensor, StreamedAxis axis);
  bool fail(mlir::Operation *op, const llvm::Twine &reason);
  bool spread(mlir::Operation *op);
  bool spread(IndexProgramOpInterface op);
  bool spreadReshape(mlir::Operation *op, mlir::Value wide, mlir::Value narrow,
                     llvm::ArrayRef<mlir::ReassociationIndices> groups);

  mlir::func::FuncOp func;
  llvm::DenseMap<mlir::Value, StreamedAxis> axes;
  llvm::DenseMap<mlir::Operation *, StreamedAxis> dims;
  llvm::SmallVector<CascadeOp> reducing;
  Obstacle obstacle;
  bool changed = false;
  int64_t partLength = mlir::ShapedType::kDynamic;
};

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_STREAMEDDIM_H
