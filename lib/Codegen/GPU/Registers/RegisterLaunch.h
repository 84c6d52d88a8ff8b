//===- RegisterLaunch.h - how the host starts a kernel ----------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERLAUNCH_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERLAUNCH_H

#include "redfuse/Codegen/GPU/Registers/RegisterKernel.h"

namespace redfuse {

/// The host's side of a kernel in registers: how many blocks there are, the memory that
/// they share, and the function that is launched.
class RegisterLaunch {
public:
  RegisterLaunch(mlir::OpBuilder &b, KernelOp kernel, LaunchOp launch,
                 const KernelSpace &space, const RegisterLayout &layout)
      : b(b), loc(kernel.getLoc()), kernel(kernel), launch(launch),
        space(space), layout(layout) {}

  /// Before the launch: the number of blocks, and what they are given beside its
  /// operands.
  void prepare();
  /// The function, without a body. `startsNext`: it says itself when the next kernel
  /// may start.
  mlir::gpu::GPUFuncOp makeFunction(mlir::gpu::GPUModuleOp module,
                                    llvm::StringRef name,
                                    const DeviceLimits &limits,
                                    bool startsNext);

  /// What its blocks are given: memory for states and counters of blocks that are done,
  /// where splits merge in the launch; the counter of a scheduler; the number of tiles
  /// where blocks walk them. Null where there is none.
  struct Given {
    mlir::Value workspace, counters, tiles;
  };
  Given getGiven(mlir::gpu::GPUFuncOp func) const;

  /// Replaces the launch by one of the function, with so many bytes of shared memory,
  /// and so many words of the memory for states for each block.
  void finish(mlir::gpu::GPUFuncOp func, int64_t sharedBytes,
              int64_t stateWords);

private:
  mlir::Value constant(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, loc, value);
  }
  mlir::Operation *allocate(mlir::Value words);

  mlir::OpBuilder &b;
  mlir::Location loc;
  KernelOp kernel;
  LaunchOp launch;
  const KernelSpace &space;
  const RegisterLayout &layout;
  mlir::Value blocks, states, words;
  llvm::SmallVector<mlir::Value> arguments;
};

/// Whether blocks that are laid out so ask a scheduler for tiles.
inline bool hasDynamicScheduler(const RegisterLayout &layout) {
  return layout.loopingBlocks != 0 && !layout.kept.empty();
}

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERLAUNCH_H
