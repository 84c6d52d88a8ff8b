//===- FusionBuilder.h - makes one cascade of several ------------*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_FUSIONBUILDER_H
#define REDFUSE_LIB_TRANSFORMS_FUSIONBUILDER_H

#include "redfuse/Analysis/FusionSpace.h"

#include "mlir/IR/PatternMatch.h"

namespace redfuse {

/// Replaces `ops`, of one block and in its order, by one cascade over `space`,
/// and sorts the block so that every value comes before its uses.
CascadeOp buildFusedCascade(mlir::RewriterBase &rewriter,
                            llvm::ArrayRef<CascadeOp> ops,
                            const FusionSpace &space);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_FUSIONBUILDER_H
