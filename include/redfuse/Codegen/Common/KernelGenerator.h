//===- KernelGenerator.h - what all targets' kernels share ------*- C++ -*-===//
//
// The iteration space of a kernel, the tile programs of its ops, and the order in
// which a block runs them. How the nests of a tile program run, and where tiles
// live, is the target's.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_CODEGEN_COMMON_KERNELGENERATOR_H
#define REDFUSE_CODEGEN_COMMON_KERNELGENERATOR_H

#include "redfuse/Analysis/ScheduleChoice.h"
#include "redfuse/Codegen/Common/TileEmitter.h"

namespace redfuse {

/// Where the extent of a kernel dim can be read: an argument of the kernel and a
/// position in its shape.
using ExtentSource = std::pair<mlir::BlockArgument, unsigned>;

struct KernelSpace {
  unsigned numDims = 0;
  llvm::SmallVector<int64_t> staticExtents;
  llvm::SmallVector<std::optional<ExtentSource>> sources;
  ScheduleAttr schedule;

  int64_t tileOf(unsigned d) const {
    return schedule ? schedule.getTiles()[d] : 0;
  }
};

mlir::FailureOr<KernelSpace> analyseSpace(KernelOp kernel);

/// Whether the kernel's blocks fold a split each and the last one to finish
/// merges and finalises.
inline bool mergesInLaunch(KernelOp kernel) {
  return kernel->hasAttr(kMergesInLaunch);
}
/// The same of a kernel generated for `space`: one where blocks fold all of a tile
/// merges nothing.
inline bool mergesInLaunch(KernelOp kernel, const KernelSpace &space) {
  return mergesInLaunch(kernel) && space.schedule &&
         space.schedule.getKind() == ScheduleKind::Split;
}

/// The iteration space of a kernel that has a tile whole: it folds all splits of it.
KernelSpace mergeSplitsOf(KernelOp kernel, const KernelSpace &space);

/// A launch to generate code for: `name` is the function's. A kernel launched on
/// buffers of several layouts has a function for each; launches on the same kinds of
/// buffers share one.
struct KernelLaunch {
  LaunchOp launch;
  /// Others that only their operands set apart from it.
  llvm::SmallVector<LaunchOp, 1> again;
  KernelOp kernel;
  std::string name;
  KernelSpace space;

  /// Gives all of these launches an attribute: what was planned, say.
  void record(llvm::StringRef name, mlir::Attribute value);
};

/// All launches of the module, which must be bufferized.
mlir::FailureOr<llvm::SmallVector<KernelLaunch>>
findLaunches(mlir::ModuleOp module);

/// Generates code for all launches of the module, which `generate` puts in the place
/// of the one it is given; that is repeated in the places of its equals.
mlir::LogicalResult generateLaunches(
    mlir::ModuleOp module,
    llvm::function_ref<mlir::LogicalResult(KernelLaunch &)> generate);

/// Erases the kernels, once no launch is left.
void eraseKernels(mlir::ModuleOp module);

/// The number of blocks, computed by the host at the launch. Tiles are those of
/// the schedule, or else of `tileOf`.
mlir::Value countBlocks(mlir::OpBuilder &b, LaunchOp launch,
                        const KernelSpace &space,
                        llvm::function_ref<int64_t(unsigned)> tileOf = {});

/// The tensors that a kernel argument reaches: itself, and results written to it.
llvm::DenseMap<mlir::Value, mlir::BlockArgument>
findDestinations(KernelOp kernel);

/// Binds the arguments and destinations of a kernel to `operands`, and clones its
/// scalar code (extents, constants), which runs once.
void bindKernel(mlir::OpBuilder &b, KernelOp kernel, mlir::ValueRange operands,
                llvm::DenseMap<mlir::Value, mlir::Value> &memrefs,
                mlir::IRMapping &captured);

/// Starts a tile of a dim at `offset`; `length` is what is cut into tiles.
void startTile(mlir::OpBuilder &b, mlir::Location loc, SpaceDim &dim,
               mlir::Value offset, int64_t length);

/// Bytes of an element in memory.
int64_t bytesOf(mlir::Type element);

/// The tile programs of a kernel, by op.
using KernelPrograms =
    llvm::DenseMap<mlir::Operation *, std::unique_ptr<TileProgram>>;

/// Finds them, of a block's tile of that space.
mlir::LogicalResult makeTilePrograms(KernelOp kernel, LaunchOp launch,
                                     const KernelSpace &space,
                                     const TileProgram::Options &options,
                                     KernelPrograms &programs);

/// Generates the function of one kernel.
class KernelGenerator {
public:
  KernelGenerator(KernelOp kernel, LaunchOp launch, const KernelSpace &space,
                  unsigned lanes)
      : kernel(kernel), launch(launch), space(space), lanes(lanes),
        b(kernel.getContext()), loc(kernel.getLoc()) {}
  virtual ~KernelGenerator() = default;

protected:
  /// A tile that the kernel needs memory for: its element type, its dims, and
  /// who wants to know where it is.
  struct TileRequest {
    mlir::Type element;
    llvm::SmallVector<unsigned> of;
    std::function<void(TileBuffer)> give;
  };

  /// Finds the tile programs, for vectors of `lanes`.
  mlir::LogicalResult makePrograms(TileProgram::Options options);
  /// Extents and whole-dim tiles; `operands` are the launch's in the function.
  void makeSpace(mlir::ValueRange operands);
  /// Tells the emitter what the operands are, and clones scalar code.
  void bindOperands(mlir::ValueRange operands);
  /// The tiles of all programs, and of what one program hands to the next.
  llvm::SmallVector<TileRequest, 0> requestTiles();
  /// Places tiles one after another; returns the bytes that they take.
  mlir::Value layOutTiles(llvm::ArrayRef<TileRequest> requests,
                          llvm::SmallVectorImpl<mlir::Value> &offsets);
  /// Cuts them from a memref<?xi8>.
  void cutTiles(llvm::ArrayRef<TileRequest> requests,
                llvm::ArrayRef<mlir::Value> offsets, mlir::Value bytes);
  /// Sets the dims of the grid to the tile of a block.
  void placeBlock(mlir::Value block);
  /// Runs all programs for one block of the grid.
  mlir::LogicalResult emitBlock(mlir::Value block);
  /// What was stored by any thread of the block can be read by all from here on.
  virtual void synchronize() {}

  KernelOp kernel;
  LaunchOp launch;
  const KernelSpace &space;
  unsigned lanes;
  mlir::OpBuilder b;
  mlir::Location loc;
  llvm::SmallVector<SpaceDim> dims;
  std::unique_ptr<TileEmitter> emitter;
  KernelPrograms programs;
  llvm::DenseMap<mlir::Operation *, llvm::DenseMap<mlir::Value, TileBuffer>>
      buffers;

  virtual mlir::LogicalResult emitProgram(IndexProgramOpInterface op);
  mlir::LogicalResult emitNests(IndexProgramOpInterface op, bool isInvariant);

  llvm::SmallVector<unsigned> streamDims;
  /// Whether tiles are not walked of which every element is left out by comparing
  /// positions: what is folded there is the identity, if the data is finite.
  bool leavesOutMasked = false;

private:
  /// What of a streamed dim is walked, and from where to where every element counts
  /// (null: from its beginning, to its end), so that these selects are decided.
  struct StreamRange {
    mlir::Value begin, end, wholeBegin, wholeEnd;
    llvm::DenseMap<mlir::Operation *, mlir::Value> decided;
  };
  StreamRange leaveOutMasked(FoldOp fold, unsigned d, mlir::Value begin,
                             mlir::Value end);
  mlir::LogicalResult overStream(IndexProgramOpInterface op, unsigned i);
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_COMMON_KERNELGENERATOR_H
