//===- OperandCopy.h - the copy of a factor ---------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_KERNELS_OPERANDCOPY_H
#define REDFUSE_LIB_TRANSFORMS_KERNELS_OPERANDCOPY_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace redfuse {

/// A factor of a product, as it is copied.
struct Operand {
  mlir::Value value;
  /// Its dims in the order of the copy, the last adjacent: those of the product, or of
  /// `argument` where that is copied as it is.
  llvm::SmallVector<unsigned> dims;
  mlir::BlockArgument argument = {};
  /// How the product rounds what the copy has rounded already.
  mlir::arith::TruncFOp round = {};
  /// The copy has two parts: floats of TF32, and what is left.
  bool isInParts = false;
  /// The 16-bit float that the copy has, where that is not the value's own type.
  mlir::FloatType narrow = {};
  /// The extent of the copy's last dim, where zeros are put behind what there is, or 0.
  int64_t padded = 0;
};

/// The type of the copy's elements.
mlir::Type getCopiedType(const Operand &operand);

/// A cascade in front of `op` that has the elements of its operand in the order of the copy:
/// one result, or one for each part.
CascadeOp makeCopy(mlir::RewriterBase &b, CascadeOp op, const Operand &operand);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_KERNELS_OPERANDCOPY_H
