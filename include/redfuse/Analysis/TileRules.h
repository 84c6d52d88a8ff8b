//===- TileRules.h - who may touch what, and when ---------------*- C++ -*-===//
#ifndef REDFUSE_ANALYSIS_TILERULES_H
#define REDFUSE_ANALYSIS_TILERULES_H

#include "mlir/IR/Operation.h"

namespace redfuse::tile {

/// Follows the products that may run through the ops inside of `root`, loops twice,
/// and says of the first op that breaks a rule which one and why:
/// 1. Elements are those of products that the wait waits for.
/// 2. A stage is released (by an arrival at its `empty` barrier) after the products
///    that read it are over,
/// 3. and after what a warp has read of it by itself is settled.
/// Stages are the same if their numbers are one value, carried by loops or not; what
/// cannot be followed is taken for right.
llvm::LogicalResult checkRules(mlir::Operation *root);

} // namespace redfuse::tile

#endif // REDFUSE_ANALYSIS_TILERULES_H
