//===- GroupUpdates.h - updates in the order of their places ----*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_NORMALIZE_GROUPUPDATES_H
#define REDFUSE_LIB_TRANSFORMS_NORMALIZE_GROUPUPDATES_H

#include "redfuse/Dialect/TMTensor/IR/TMTensor.h"

#include "mlir/IR/PatternMatch.h"

namespace redfuse {

/// The result of a scatter of many updates, a thread for each element of the output:
/// updates are ordered by their places, those of one place are combined in pieces, and
/// pieces in their order, so that a call repeated gives the same bits. Fails where
/// updates are few, extents are not known, or the region is no known combination.
mlir::FailureOr<mlir::Value> groupUpdates(tm_tensor::ScatterOp op,
                                          mlir::PatternRewriter &rewriter);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_NORMALIZE_GROUPUPDATES_H
