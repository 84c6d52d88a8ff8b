//===- TensorPart.h - parts of tensors along one dim ------------*- C++ -*-===//
#ifndef REDFUSE_DIALECT_REDFUSE_UTILS_TENSORPART_H
#define REDFUSE_DIALECT_REDFUSE_UTILS_TENSORPART_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace redfuse {

/// Where a part of a tensor is, as slices take it: `extent` elements along one dim, from
/// `begin` on, and all of the others, whose extents are static.
struct TensorPart {
  TensorPart(mlir::OpBuilder &b, mlir::RankedTensorType type, int64_t along,
             mlir::OpFoldResult begin, mlir::OpFoldResult extent);
  TensorPart(mlir::OpBuilder &b, mlir::RankedTensorType type, int64_t along,
             int64_t begin, int64_t extent);

  llvm::SmallVector<mlir::OpFoldResult> offsets, sizes, strides;
};

/// That part of a tensor; the tensor itself if it is all of it.
mlir::Value extractPart(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::Value tensor, int64_t along, int64_t begin,
                        int64_t extent);

} // namespace redfuse

#endif // REDFUSE_DIALECT_REDFUSE_UTILS_TENSORPART_H
