//===- Canonicalize.h - upstream's canonicalizer, of tensors ----*- C++ -*-===//
#ifndef REDFUSE_TRANSFORMS_CANONICALIZE_H
#define REDFUSE_TRANSFORMS_CANONICALIZE_H

#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace redfuse {

/// Upstream's pass, but for one of its patterns: that takes the extents of what a
/// loop begins with for those of every round, whatever the rounds yield. (Its name as
/// gcc and as clang write it.)
inline std::unique_ptr<mlir::Pass> createTensorCanonicalizer() {
  mlir::GreedyRewriteConfig config;
  config.setUseTopDownTraversal().setRegionSimplificationLevel(
      mlir::GreedySimplifyRegionLevel::Normal);
  return mlir::createCanonicalizerPass(
      config, {"{anonymous}::ForOpTensorCastFolder",
               "(anonymous namespace)::ForOpTensorCastFolder"});
}

} // namespace redfuse

#endif // REDFUSE_TRANSFORMS_CANONICALIZE_H
