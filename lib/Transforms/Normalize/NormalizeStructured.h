//===- NormalizeStructured.h - packs, gathers, tables -----------*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_NORMALIZESTRUCTURED_H
#define REDFUSE_LIB_TRANSFORMS_NORMALIZESTRUCTURED_H

#include "mlir/IR/PatternMatch.h"

namespace redfuse {

/// Structured ops that have no indexing maps become others that have.
void populateStructuredPatterns(mlir::RewritePatternSet &patterns);

/// Sums weighed by a softmax become products and that softmax.
void populateWeightedSumPatterns(mlir::RewritePatternSet &patterns);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_NORMALIZESTRUCTURED_H
