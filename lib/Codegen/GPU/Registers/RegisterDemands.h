//===- RegisterDemands.h - what a kernel asks of a layout -------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERDEMANDS_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERDEMANDS_H

#include "redfuse/Codegen/GPU/Registers/RegisterKernel.h"

#include "redfuse/Analysis/FusionCost.h"

namespace redfuse {

/// A tensor in memory that a kernel reads or writes.
struct TensorAccess {
  /// The dim along which neighbours are adjacent.
  std::optional<unsigned> contiguous;
  llvm::SmallBitVector dims;
  int64_t bytes;
  double size;
  mlir::MemRefType type;
  bool isInput;
  mlir::BlockArgument argument;
  mlir::AffineMap map;
  /// The programs that read it.
  unsigned readers = 1;
};

/// What a kernel, scheduled as it is, asks of every layout of registers: how large its
/// tiles are, which dims occur together, and how its programs read memory. It is
/// found once, before any layout is tried, and no layout changes it.
class RegisterDemands {
public:
  /// None, and why, where registers cannot hold what the programs do.
  static std::optional<RegisterDemands> find(KernelOp kernel, LaunchOp launch,
                                             const KernelSpace &space,
                                             const KernelPrograms &programs,
                                             const DeviceLimits &limits,
                                             std::string &why);

  /// The same of a kernel that has all it streams in registers at once.
  RegisterDemands whereStreamIsHeld() const;
  /// Whether data that is read again after the fold fits in registers whole.
  bool canHoldStream() const;

  bool isSplit() const {
    return space.schedule && space.schedule.getKind() == ScheduleKind::Split;
  }
  bool isGrid(unsigned d) const {
    return space.schedule && llvm::is_contained(space.schedule.getGrid(), d);
  }
  /// Whether all tiles of a dim hold a multiple of `by` and start at one.
  bool isMultiple(unsigned d, int64_t by) const;
  /// Whether vectors of `lanes` along a dim whose extent is no multiple may begin
  /// anywhere, so that the last of a tile has elements of the one before: what each
  /// has is stored twice, the same. Reductions and scans would count them twice.
  bool canOverlap(unsigned d, int64_t lanes) const;
  /// Whether a thread may have neighbours along a dim of which only the first exist: no
  /// tensor has them side by side, so that they are no vectors.
  bool canEndInRun(unsigned d) const;
  /// Tiles of the grid, and blocks, of which several may fold a split of a tile each.
  double countTiles() const;
  double countBlocks() const;
  /// Whether the blocks are so few that each needs more bytes under way.
  bool hasFewBlocks() const;
  /// Multiprocessors of the target.
  double getUnits() const { return getTargetOf(kernel).getUnits(); }
  /// Threads of the largest block of which a multiprocessor runs two at a time.
  int64_t getThreadsOfHalf() const {
    return llvm::bit_floor(uint64_t(limits.threadsOfUnit) / 2);
  }
  /// Of a tile of the grid.
  double bytesOfTile(const TensorAccess &access) const;
  /// Whether all blocks read the same.
  bool isSharedByBlocks(const TensorAccess &access) const;
  /// Whether a tile of a tensor lies in one piece of memory, from a multiple of 16
  /// bytes on.
  bool isInOnePiece(const TensorAccess &access) const;
  /// Whether blocks that are laid out so walk tiles by way of shared memory.
  bool isStaged(const RegisterLayout &layout) const {
    return streamed.none() && !layout.kept.empty();
  }

  KernelOp kernel;
  const KernelSpace &space;
  const KernelPrograms &programs;
  DeviceLimits limits;
  Hints hints;
  /// Positions of each dim in a tile; of a streamed dim, in all.
  llvm::SmallVector<int64_t> capacity;
  /// Dims that some value or nest has together with each.
  llvm::SmallVector<llvm::SmallBitVector> together;
  /// Dims that are walked step by step, reduced, and scanned; and those of a window's
  /// elements, which a thread has to itself.
  llvm::SmallBitVector streamed, reduced, scanned, taps;
  /// Of the scanned ones, those whose elements have several parts.
  llvm::SmallBitVector scannedInParts;
  /// Some op that is no fold walks the streamed dims too.
  bool isMapped = false;
  /// The largest tensors first.
  llvm::SmallVector<TensorAccess> accesses;

private:
  RegisterDemands(KernelOp kernel, const KernelSpace &space,
                  const KernelPrograms &programs, const DeviceLimits &limits)
      : kernel(kernel), space(space), programs(programs), limits(limits),
        hints(hintsOf(space.schedule)), capacity(space.numDims),
        together(space.numDims, llvm::SmallBitVector(space.numDims)),
        streamed(space.numDims), reduced(space.numDims), scanned(space.numDims),
        taps(space.numDims), scannedInParts(space.numDims) {}

  // Each returns why registers cannot hold what the programs do; empty: they can.
  std::string findCapacities();
  std::string findDims();
  std::string findAccesses(LaunchOp launch);
  void findWindows();
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERDEMANDS_H
