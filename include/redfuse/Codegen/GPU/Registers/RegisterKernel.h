//===- RegisterKernel.h - kernels whose tiles are registers -----*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_REGISTERS_REGISTERKERNEL_H
#define REDFUSE_CODEGEN_GPU_REGISTERS_REGISTERKERNEL_H

#include "redfuse/Codegen/Common/KernelGenerator.h"
#include "redfuse/Codegen/GPU/Registers/RegisterLayout.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "redfuse/Analysis/ScheduleChoice.h"

#include <algorithm>

namespace redfuse {

/// What a device can do beyond what all of them can.
struct DeviceLimits {
  /// Threads of a warp or wave.
  int64_t warp = 32;
  /// Threads that a multiprocessor runs at a time, and blocks that these are of at
  /// most.
  int64_t threadsOfUnit = 2048, blocksOfUnit = 32;
  /// Shared memory of a multiprocessor, if copies into it can run beside the
  /// threads; else 0.
  int64_t sharedBytes = 0;
  /// Blocks of a cluster at most.
  int64_t cluster = 1;
  /// Kernels wait for those before them in the stream themselves.
  bool overlapsLaunches = false;
  /// What the program combines one after another is combined so (`strict`).
  bool keepsOrder = false;

  /// Blocks of so many threads that a multiprocessor runs at a time.
  int64_t countBlocks(int64_t threads) const {
    return std::min(blocksOfUnit, threadsOfUnit / threads);
  }
};

/// On a function: it waits for the kernels before it where that is best.
inline constexpr llvm::StringLiteral kWaits = "redfuse.waits";
/// On a function: it says itself when the next kernel may start to get ready.
inline constexpr llvm::StringLiteral kStartsNext = "redfuse.starts_next";

/// A layout for all values of the kernel, if registers can hold them; else why not.
std::optional<RegisterLayout> planRegisters(KernelOp kernel, LaunchOp launch,
                                            const KernelSpace &space,
                                            const KernelPrograms &programs,
                                            const DeviceLimits &limits,
                                            std::string &why);

/// A layout as an attribute; null after an error at the launch.
RegisterLayoutAttr recordLayout(const RegisterLayout &layout, LaunchOp launch);

/// The layout that was recorded; none, and why, where it does not fit the kernel.
std::optional<RegisterLayout>
readLayout(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
           const KernelPrograms &programs, const DeviceLimits &limits,
           RegisterLayoutAttr record, std::string &why);

/// Generates the kernel with its tiles in registers, as recorded, and replaces the
/// launch; fails, and says why, where the record does not fit.
mlir::LogicalResult
generateInRegisters(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                    unsigned lanes, const DeviceLimits &limits,
                    RegisterLayoutAttr record, mlir::gpu::GPUModuleOp module,
                    llvm::StringRef name);

/// Whether a launch may write to memory that it also reads under another name.
bool sharesMemory(LaunchOp launch);

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_REGISTERS_REGISTERKERNEL_H
