//===- RegisterPlanner.h - chooses layouts of registers ---------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERPLANNER_H
#define REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERPLANNER_H

#include "Tuning.h"

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

class RegisterPlanner {
public:
  RegisterPlanner(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                  const KernelPrograms &programs, const DeviceLimits &limits)
      : kernel(kernel), launch(launch), space(space), programs(programs),
        limits(limits), hints(hintsOf(space.schedule)),
        sharedBytes(limits.sharedBytes), capacity(space.numDims),
        together(space.numDims, llvm::SmallBitVector(space.numDims)),
        streamed(space.numDims), reduced(space.numDims), scanned(space.numDims),
        taps(space.numDims) {}

  std::optional<RegisterLayout> run();
  /// Why there is no layout.
  llvm::StringRef getRefusal() const { return refusal; }
  /// What was chosen before; none, and why, where it does not fit the kernel.
  std::optional<RegisterLayout> read(RegisterLayoutAttr record,
                                     std::string &why);

private:
  /// Whether registers can hold what the programs do, and how they read memory.
  bool analyse();
  bool refuse(llvm::StringRef why) {
    refusal = why.str();
    return false;
  }
  std::string checkDim(unsigned d) const;
  std::string checkBlocks() const;
  std::string checkInputs() const;
  bool findCapacities();
  bool checkPrograms();
  void findAccesses();
  bool isMultiple(unsigned d, int64_t by) const;
  void chooseLanes();
  int64_t countScanning(unsigned d, unsigned bit) const;
  bool chooseTransposed();
  std::optional<std::pair<unsigned, unsigned>> findCrossed() const;
  bool isShorterThanSector(unsigned d) const;
  int64_t choosePiece(unsigned d) const;
  double countTransactions(const TensorAccess &access, unsigned other) const;
  void giveThreads(unsigned d, int64_t threads);
  void findWindows();
  void dealWindows(unsigned row);
  void dealResident();
  void dealStreamed(int64_t threads, int64_t most);
  bool isGrid(unsigned d) const {
    return space.schedule && llvm::is_contained(space.schedule.getGrid(), d);
  }
  double countTiles() const;
  double countBlocks() const;
  bool hasFewBlocks() const;
  int64_t countStreamingThreads(bool readsTwice) const;
  double bytesOfTile(const TensorAccess &access) const;
  bool isSharedByBlocks(const TensorAccess &access) const;
  bool chooseCluster(bool isHeld);
  void chooseOccupancy();
  void chooseRounds();
  bool chooseStepsAhead();
  void chooseAwaiting();
  bool exchangesInSteps() const;
  SharedLoads chooseEarly() const;
  void chooseCaching();
  void chooseAhead();
  bool isInOnePiece(const TensorAccess &access) const;
  std::optional<RegisterLayout> finish();
  int64_t countCachedBlocks() const;
  bool chooseKept();
  bool chooseAgain();
  bool chooseStaged();
  std::optional<KeptInput> keptInputOf(const TensorAccess &access) const;
  bool isKept(mlir::BlockArgument argument) const {
    return llvm::any_of(layout.kept, [&](const KeptInput &kept) {
      return kept.argument == argument.getArgNumber();
    });
  }
  /// All blocks read it, and each where it is used.
  bool isLoadedLate(mlir::BlockArgument argument) const {
    return hints.early != SharedLoads::WithRest &&
           llvm::all_of(accesses, [&](const TensorAccess &a) {
             return a.argument != argument || isSharedByBlocks(a);
           });
  }
  bool complete();
  void chooseRepeats();
  bool canHoldStream() const;
  int64_t countRegisters();
  int64_t countCode() const;
  int64_t vectorsOf(unsigned d) const {
    return llvm::divideCeil(capacity[d], layout.dims[d].lanes);
  }
  double localOf(const llvm::SmallBitVector &set) const {
    double n = 1;
    for (unsigned d : set.set_bits())
      n *= layout.dims[d].repeats * layout.dims[d].lanes;
    return n;
  }

  KernelOp kernel;
  LaunchOp launch;
  const KernelSpace &space;
  const KernelPrograms &programs;
  DeviceLimits limits;
  Hints hints;
  /// Of a multiprocessor; 0: nothing is kept there.
  int64_t sharedBytes;
  /// Positions of each dim in a tile; of a streamed dim, in all.
  llvm::SmallVector<int64_t> capacity;
  /// Dims that some value or nest has together with each.
  llvm::SmallVector<llvm::SmallBitVector> together;
  llvm::SmallBitVector streamed, reduced, scanned, taps;
  /// Some op that is no fold walks the streamed dims too.
  bool isMapped = false;
  /// Blocks walk tiles by way of shared memory.
  bool isStaged = false;
  llvm::SmallVector<TensorAccess> accesses;
  RegisterLayout layout;
  std::string refusal = "a tile is more than the threads of a block hold";
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_REGISTERS_REGISTERPLANNER_H
