//===- Extents.h - which extents are the same -------------------*- C++ -*-===//
#ifndef REDFUSE_DIALECT_REDFUSE_UTILS_EXTENTS_H
#define REDFUSE_DIALECT_REDFUSE_UTILS_EXTENTS_H

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

/// A product of extents: a constant, and factors that are not, in no order.
struct ExtentProduct {
  int64_t constant = 1;
  llvm::SmallVector<Extent> factors;

  void multiply(const Extent &extent) {
    if (extent.isConstant())
      constant *= extent.constant;
    else
      factors.push_back(extent);
  }
  /// Are all factors extents of tensors, and the constant no less than 0? Then
  /// the product is no less either: as a number of elements it does not wrap.
  bool isSize() const;
  bool operator==(const ExtentProduct &other) const;
};

/// `product` without the factors of `divisor`, where it has them all and its
/// constant is a multiple of the other's; nothing otherwise.
std::optional<ExtentProduct> divide(ExtentProduct product,
                                    const ExtentProduct &divisor);

/// The extent as a product. Looks through multiplications and collapsed dims.
ExtentProduct getExtentProduct(const Extent &extent);

/// The extent as an index at the builder's position.
mlir::Value materialize(mlir::OpBuilder &b, mlir::Location loc,
                        const Extent &extent);

/// The extent of loop `loop` of `op`, from the first operand that has it as a
/// dim; nothing if none has.
std::optional<Extent> getLoopExtent(mlir::linalg::LinalgOp op, unsigned loop);

/// Whether every tensor below `root` whose extents are all known has fewer than 2^63
/// bytes; else an error is at the operation that makes it. MLIR asserts that such
/// products do not overflow.
mlir::LogicalResult checkFitsInMemory(mlir::Operation *root);

/// `map` with `d mod n` as d wherever the extent of d is static and at most n.
mlir::AffineMap simplifyForExtents(mlir::AffineMap map,
                                   llvm::ArrayRef<int64_t> extents);

} // namespace redfuse

#endif // REDFUSE_DIALECT_REDFUSE_UTILS_EXTENTS_H
