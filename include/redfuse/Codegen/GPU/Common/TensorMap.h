//===- TensorMap.h - tensor maps that the host makes ------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_COMMON_TENSORMAP_H
#define REDFUSE_CODEGEN_GPU_COMMON_TENSORMAP_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

namespace redfuse {

/// On the host, at the builder's place: 128 bytes (`vector<16xi64>`) that `function` of
/// the runtime fills with a tensor map, `redfuse_rt_tensor_map` or
/// `redfuse_rt_window_map` (Target/Device.h). `description` is what these take after the
/// address, the type of elements and the rank; `offset` elements of the memref come
/// before the tensor.
mlir::Value makeTensorMap(mlir::OpBuilder &b, mlir::Location loc,
                          llvm::StringRef function, mlir::Value memref,
                          int64_t offset, int64_t rank,
                          mlir::ValueRange description);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_COMMON_TENSORMAP_H
