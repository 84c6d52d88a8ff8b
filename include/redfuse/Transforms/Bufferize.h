//===- Bufferize.h - from tensors to buffers ---------------------*- C++ -*-===//
#ifndef REDFUSE_TRANSFORMS_BUFFERIZE_H
#define REDFUSE_TRANSFORMS_BUFFERIZE_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace redfuse {

/// Teaches bufferization what redfuse.launch reads and writes.
void registerBufferizableOpInterfaceModels(mlir::DialectRegistry &registry);

/// Registers the pipeline `redfuse-bufferize`.
void registerBufferizePipeline();

} // namespace redfuse

#endif // REDFUSE_TRANSFORMS_BUFFERIZE_H
