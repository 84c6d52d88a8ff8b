//===- Bufferize.h - redfuse.launch on buffers -------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_DIALECT_BUFFERIZE_H
#define REDFUSE_LIB_DIALECT_BUFFERIZE_H

#include "mlir/IR/MLIRContext.h"

namespace redfuse {

/// Makes `redfuse.launch` known to bufferization.
void attachBufferization(mlir::MLIRContext *context);

} // namespace redfuse

#endif // REDFUSE_LIB_DIALECT_BUFFERIZE_H
