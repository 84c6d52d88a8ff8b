//===- HostLaunch.h - how the host launches a kernel ------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_HOSTLAUNCH_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_HOSTLAUNCH_H

#include "MatrixKernel.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace redfuse {

/// The host's side: how many blocks, tensor maps, and memory that is the kernel's own.
class HostLaunch : KernelPart {
public:
  explicit HostLaunch(MatrixKernel &of) : KernelPart(of) {}

  /// How many tiles and rounds of them, tensor maps, operands of the launch, memory.
  llvm::ArrayRef<mlir::Value> makeArguments();
  /// The arguments of the function as the parts of the generator know them.
  void bindArguments(mlir::Block *entry);
  /// Replaces the kernel's launch.
  void emit(mlir::gpu::GPUFuncOp func);

private:
  mlir::Value makeTensorMap(const MatrixTile &tile);
  void allocateStates(mlir::Value tiles);

  mlir::Value grid;
  llvm::SmallVector<mlir::Value> arguments, memory;
  unsigned firstOperand = 0;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_HOSTLAUNCH_H
