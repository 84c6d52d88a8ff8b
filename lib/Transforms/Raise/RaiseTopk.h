//===- RaiseTopk.h - tm_tensor.topk becomes redfuse.cascade -----*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_RAISETOPK_H
#define REDFUSE_LIB_TRANSFORMS_RAISETOPK_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"
#include "redfuse/Dialect/TMTensor/IR/TMTensor.h"

#include "mlir/IR/PatternMatch.h"

namespace redfuse {

/// Replaces a top-k by positions, with a constant k, by a cascade. Otherwise says
/// why not, and what would help.
mlir::LogicalResult raiseTopk(tm_tensor::TopkOp op,
                              mlir::RewriterBase &rewriter, std::string &detail,
                              std::string &remedy);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_RAISETOPK_H
