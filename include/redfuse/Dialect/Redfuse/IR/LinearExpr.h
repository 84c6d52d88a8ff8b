//===- LinearExpr.h - affine expressions as coefficients --------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_DIALECT_REDFUSE_IR_LINEAREXPR_H
#define REDFUSE_DIALECT_REDFUSE_IR_LINEAREXPR_H

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace redfuse {

/// constant + sum of coefficients[d] * d.
struct LinearExpr {
  llvm::SmallVector<int64_t> coefficients;
  int64_t constant = 0;

  /// The indices that it takes over dims of the given static extents (each at
  /// least 1): lowest and highest.
  std::pair<int64_t, int64_t> getRange(llvm::ArrayRef<int64_t> extents) const;
};

/// `expr` as a sum over `numDims` dims, or nothing where it has a symbol, mod,
/// floordiv or ceildiv, or its constants overflow.
std::optional<LinearExpr> getLinearExpr(mlir::AffineExpr expr,
                                        unsigned numDims);

} // namespace redfuse

#endif // REDFUSE_DIALECT_REDFUSE_IR_LINEAREXPR_H
