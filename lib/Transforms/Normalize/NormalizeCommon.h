//===- NormalizeCommon.h - what the normalise passes share ------*- C++ -*-===//
#ifndef REDFUSE_LIB_TRANSFORMS_NORMALIZECOMMON_H
#define REDFUSE_LIB_TRANSFORMS_NORMALIZECOMMON_H

#include "redfuse/Dialect/TMTensor/IR/TMTensor.h"
#include "redfuse/Transforms/Normalize/Normalize.h"
#include "redfuse/Transforms/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace redfuse {

/// Runs the patterns that `populate` adds, greedily; false if they do not
/// settle.
inline bool
applyPopulated(mlir::Operation *op,
               llvm::function_ref<void(mlir::RewritePatternSet &)> populate) {
  mlir::RewritePatternSet patterns(op->getContext());
  populate(patterns);
  return mlir::succeeded(mlir::applyPatternsGreedily(op, std::move(patterns)));
}

/// What declares the state of a generic or a scan: identities, and whether the order counts.
inline constexpr llvm::StringLiteral kCombiner = "redfuse.combiner";

/// Puts the ops of a region of one yield at `b`, with `arguments` for its own, and returns
/// what it yields.
inline mlir::Value inlineRegion(mlir::OpBuilder &b, mlir::Region &region,
                                mlir::ValueRange arguments) {
  mlir::Block &body = region.front();
  mlir::IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (mlir::Operation &op : body.without_terminator())
    b.clone(op, mapping);
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}

/// Puts redfuse.combine into the body of `op`, as its attribute kCombiner says, or tells why
/// not.
std::optional<std::string> declareCombiner(mlir::linalg::GenericOp op);
/// Notes why it does not say how `op` combines, and takes it off.
void refuseCombiner(mlir::Operation *op, const llvm::Twine &why);

/// Whether `tensor` holds the position along `dimension` at every point.
bool holdsPositions(mlir::Value tensor, int64_t dimension);

/// Concatenations become maps.
void populateConcatPatterns(mlir::RewritePatternSet &patterns);

/// Tables of positions become arithmetic on positions.
void populateTablePatterns(mlir::RewritePatternSet &patterns);

/// Expansions through what upstream's patterns leave in their way.
void populateExpansionPatterns(mlir::RewritePatternSet &patterns);

} // namespace redfuse

#endif // REDFUSE_LIB_TRANSFORMS_NORMALIZECOMMON_H
