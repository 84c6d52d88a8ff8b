//===- FusionBuilder.h - makes one cascade of several -----------*- C++ -*-===//
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

/// Where one rank of a top-k is read, all ranks are read and that one is chosen.
void readRanks(mlir::RewriterBase &rewriter, mlir::Block &block);

/// Reductions over part of a computed tensor, where all of it is reduced before,
/// run over the whole, with the identity at the rest.
void widenSlicedReductions(mlir::RewriterBase &rewriter, mlir::Block &block);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_FUSIONBUILDER_H
