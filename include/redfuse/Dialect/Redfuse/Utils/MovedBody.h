//===- MovedBody.h - cascades with other operands ---------------*- C++ -*-===//
#ifndef REDFUSE_DIALECT_REDFUSE_UTILS_MOVEDBODY_H
#define REDFUSE_DIALECT_REDFUSE_UTILS_MOVEDBODY_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

namespace redfuse {

/// A cascade with the schedule, the other attributes and the body of `op`, which is left
/// without one, but with these operands, and a map for each of them. The caller gives the
/// body the arguments that it then has.
CascadeOp moveBody(mlir::OpBuilder &b, CascadeOp op, mlir::ValueRange inputs,
                   mlir::ValueRange inits,
                   llvm::ArrayRef<mlir::AffineMap> maps);

} // namespace redfuse

#endif // REDFUSE_DIALECT_REDFUSE_UTILS_MOVEDBODY_H
