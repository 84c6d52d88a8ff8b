//===- WideExtremes.h - maxima and minima of f64 on a GPU -------*- C++ -*-===//
#ifndef REDFUSE_LIB_CONVERSION_WIDEEXTREMES_H
#define REDFUSE_LIB_CONVERSION_WIDEEXTREMES_H

#include "mlir/IR/PatternMatch.h"

namespace redfuse {

/// maximumf and minimumf of f64 become comparisons and selects.
void populateWideExtremesPatterns(mlir::RewritePatternSet &patterns);

} // namespace redfuse

#endif // REDFUSE_LIB_CONVERSION_WIDEEXTREMES_H
