//===- Bufferize.h - from tensors to buffers --------------------*- C++ -*-===//
#ifndef REDFUSE_TRANSFORMS_BUFFERIZE_BUFFERIZE_H
#define REDFUSE_TRANSFORMS_BUFFERIZE_BUFFERIZE_H

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace redfuse {

/// Teaches bufferization what redfuse.launch reads and writes.
void registerBufferizableOpInterfaceModels(mlir::DialectRegistry &registry);

/// Appends the passes of `redfuse-bufferize`.
void buildBufferizePipeline(mlir::OpPassManager &pm, bool onGpu = false);
/// Makes `redfuse-bufferize` known.
void registerBufferizePipeline();

} // namespace redfuse

#endif // REDFUSE_TRANSFORMS_BUFFERIZE_BUFFERIZE_H
