//===- Normalize.h - layer 1: one canonical spelling ------------*- C++ -*-===//
//
// The pattern sets of the `redfuse-normalize-*` passes and the pipeline of all.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_TRANSFORMS_NORMALIZE_NORMALIZE_H
#define REDFUSE_TRANSFORMS_NORMALIZE_NORMALIZE_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir {
class OpPassManager;
namespace linalg {
class GenericOp;
class LinalgOp;
} // namespace linalg
} // namespace mlir

namespace redfuse {

/// Named ops, softmax, element-wise tensor arithmetic and tensor.generate to
/// linalg.generic.
void populateNormalizeGeneralizePatterns(mlir::RewritePatternSet &patterns);

/// Unused results, operands and inits of generics.
void populateNormalizeDeadResultsPatterns(mlir::RewritePatternSet &patterns);

/// Splat constants, 0-d constants and fills as scalars in bodies.
void populateNormalizeConstantsPatterns(mlir::RewritePatternSet &patterns);

/// Reshapes into the loops of the generics around them.
void populateNormalizeReshapesPatterns(mlir::RewritePatternSet &patterns);

/// Copies, transposes, broadcasts and slices into indexing maps.
void populateNormalizeViewsPatterns(mlir::RewritePatternSet &patterns);

/// Arithmetic on extents that is known, to constants and products.
void populateNormalizeExtentsPatterns(mlir::RewritePatternSet &patterns);

/// tensor.reshape between shapes that match, to expand_shape and
/// collapse_shape.
void populateNormalizeReshapeOpsPatterns(mlir::RewritePatternSet &patterns);

/// tensor.extract of what a generic computes, to its body at that index.
void populateNormalizeGathersPatterns(mlir::RewritePatternSet &patterns);

/// The same for generics that only copy.
void populateExtractOfCopyPatterns(mlir::RewritePatternSet &patterns,
                                   mlir::PatternBenefit benefit = 1);

/// tensor.extract at loop indices, to operands of the generic around it.
void populateNormalizeBroadcastsPatterns(mlir::RewritePatternSet &patterns);

/// Powers by small whole constants, to products.
void populateNormalizePowersPatterns(mlir::RewritePatternSet &patterns);

/// Extensions of integers of 8 bits, into the bodies that use them.
void populateNormalizeExtensionsPatterns(mlir::RewritePatternSet &patterns);

/// Loops over elements, to generics.
void populateNormalizeLoopsPatterns(mlir::RewritePatternSet &patterns);

/// Scalars from computed 0-d tensors, into the bodies that use them.
void populateNormalizeCapturesPatterns(mlir::RewritePatternSet &patterns);

/// Sorts of which the first k elements are used, to top-k.
void populateNormalizeSortsPatterns(mlir::RewritePatternSet &patterns);

/// Running combinations, to generics with a result for every prefix.
void populateNormalizeScansPatterns(mlir::RewritePatternSet &patterns);

/// tm_tensor ops to scf loops on tensors.
void populateLowerTMTensorPatterns(mlir::RewritePatternSet &patterns);

/// The map through which `operand` of `op` is really read: the indexing map
/// without the `mod` that marks a slice from offset zero (see
/// redfuse-normalize-views). Every other layer reads maps through this.
mlir::AffineMap getAccessMap(mlir::linalg::LinalgOp op,
                             mlir::OpOperand *operand);

/// Constant padding, to generics that choose by position.
void populateNormalizePadsPatterns(mlir::RewritePatternSet &patterns);

/// The whole of layer 1; registered as `redfuse-normalize`. With `padsAreMaps`,
/// redfuse-normalize-pads is part of it.
void buildNormalizePipeline(mlir::OpPassManager &pm, bool padsAreMaps = false);
void registerNormalizePipeline();

} // namespace redfuse

#endif // REDFUSE_TRANSFORMS_NORMALIZE_NORMALIZE_H
