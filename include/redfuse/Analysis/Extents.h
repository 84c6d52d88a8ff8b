//===- Extents.h - which extents are the same -------------------*- C++ -*-===//
#ifndef REDFUSE_ANALYSIS_EXTENTS_H
#define REDFUSE_ANALYSIS_EXTENTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Value.h"

namespace redfuse {

/// The extent of a tensor's dim, traced to where it comes from: a constant, a
/// scalar, or a dim of a tensor about which no more is known. Equal objects are
/// equal extents; different objects may still be.
struct Extent {
  /// kDynamic unless the extent is a constant.
  int64_t constant = mlir::ShapedType::kDynamic;
  /// The scalar, or the tensor whose dim `dim` it is; null for a constant.
  mlir::Value value;
  int64_t dim = -1;

  bool isConstant() const { return !mlir::ShapedType::isDynamic(constant); }
  bool operator==(const Extent &other) const {
    return constant == other.constant && value == other.value &&
           dim == other.dim;
  }
  bool operator!=(const Extent &other) const { return !(*this == other); }
};

/// The extent of dim `dim` of `tensor`. Looks through destinations, casts,
/// reshapes, slices and tensor.empty.
Extent getExtentOf(mlir::Value tensor, int64_t dim);

/// The extent that a scalar (index, or an integer as wide) stands for. Looks
/// through casts between the two and tensor.dim.
Extent getExtentOf(mlir::Value scalar);
Extent getExtentOf(mlir::OpFoldResult size);

/// The extent of loop `loop` of `op`, from the first operand that has it as a
/// dim; nothing if none has.
std::optional<Extent> getLoopExtent(mlir::linalg::LinalgOp op, unsigned loop);

} // namespace redfuse

#endif // REDFUSE_ANALYSIS_EXTENTS_H
