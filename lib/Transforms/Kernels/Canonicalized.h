//===- Canonicalized.h - cascades that a pass has made ----------*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_KERNELS_CANONICALIZED_H
#define REDFUSE_LIB_TRANSFORMS_KERNELS_CANONICALIZED_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace redfuse {

/// Canonicalises cascades, and nothing else; false if they do not settle.
inline bool canonicalizeCascades(mlir::MLIRContext *context,
                                 llvm::ArrayRef<mlir::Operation *> made) {
  if (made.empty())
    return true;
  mlir::RewritePatternSet patterns(context);
  CascadeOp::getCanonicalizationPatterns(patterns, context);
  mlir::GreedyRewriteConfig config;
  config.setStrictness(mlir::GreedyRewriteStrictness::ExistingOps);
  return mlir::succeeded(
      mlir::applyOpPatternsGreedily(made, std::move(patterns), config));
}

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_KERNELS_CANONICALIZED_H
