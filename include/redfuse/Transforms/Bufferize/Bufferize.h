//===- Bufferize.h - from tensors to buffers --------------------*- C++ -*-===//
#ifndef REDFUSE_TRANSFORMS_BUFFERIZE_BUFFERIZE_H
#define REDFUSE_TRANSFORMS_BUFFERIZE_BUFFERIZE_H

#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir {
class DialectRegistry;
class OpPassManager;
class RewriterBase;
} // namespace mlir

namespace redfuse {

/// Teaches bufferization what redfuse.launch reads and writes.
void registerBufferizableOpInterfaceModels(mlir::DialectRegistry &registry);

/// Whether the kernel may use what is in `operand`, a destination, before it writes it:
/// a fold or a merge continues from there, a cascade does not look.
bool readsDestination(LaunchOp launch, mlir::OpOperand &operand);

/// A pad in destination style, which bufferizes. The extents that it turns out to have
/// go into its type first: upstream's rewrite takes it at its word that others are no
/// constants.
llvm::LogicalResult rewritePadInDestination(mlir::RewriterBase &rewriter,
                                            mlir::tensor::PadOp op);

/// Appends the passes of `redfuse-bufferize`.
void buildBufferizePipeline(mlir::OpPassManager &pm, bool onGpu = false);
/// Makes `redfuse-bufferize` known.
void registerBufferizePipeline();

} // namespace redfuse

#endif // REDFUSE_TRANSFORMS_BUFFERIZE_BUFFERIZE_H
