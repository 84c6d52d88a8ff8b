//===- KeptResults.h - cascades with fewer results --------------*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_KERNELS_KEPTRESULTS_H
#define REDFUSE_LIB_TRANSFORMS_KERNELS_KEPTRESULTS_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/IR/PatternMatch.h"

namespace redfuse {

/// The cascade with some of its results alone, beside `op`.
CascadeOp keepResults(mlir::RewriterBase &b, CascadeOp op,
                      llvm::ArrayRef<unsigned> results);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_KERNELS_KEPTRESULTS_H
