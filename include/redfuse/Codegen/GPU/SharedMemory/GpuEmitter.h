//===- GpuEmitter.h - tile programs as code of one GPU thread ---*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_SHAREDMEMORY_GPUEMITTER_H
#define REDFUSE_CODEGEN_GPU_SHAREDMEMORY_GPUEMITTER_H

#include "redfuse/Codegen/GPU/SharedMemory/MatrixTiling.h"
#include "redfuse/Codegen/GPU/SharedMemory/SharedWords.h"

namespace redfuse {

/// Emits the nests of one tile program for the threads of a block.
///
/// A nest's points are numbered, the dim that is contiguous in memory fastest,
/// and dealt out to the threads: neighbouring threads have neighbouring points.
/// A reduction is done by *teams*: the threads of a team share the reduced points
/// of one result and combine what they have, by shuffles where they are
/// neighbours in a warp and through shared memory elsewhere.
///
/// Rules (what keeps this free of races):
/// 1. Barriers and shuffles stand in code that all threads of the block reach;
///    what only some threads do (a last, partial round) is a bound or a select.
/// 2. Within a nest a thread reads of tiles only what it wrote itself at the
///    same point, or what earlier levels wrote; KernelGenerator synchronises
///    between levels and at the end of every step.
/// 3. Memory that teams combine in is written between two barriers and read
///    after the second.
/// 4. One thread stores the result of a reduction.
class GpuEmitter : public TileEmitter {
public:
  GpuEmitter(mlir::OpBuilder &b, mlir::Location loc, unsigned lanes,
             llvm::MutableArrayRef<SpaceDim> dims, unsigned warpSize,
             unsigned threads = 0)
      : TileEmitter(b, loc, lanes, dims), threads(threads),
        words(b, loc, *this, warpSize), warpSize(warpSize), wideLanes(lanes) {}

  mlir::LogicalResult emitNest(const LoopNest &nest) override;
  void emitFill(const TileBuffer &buffer, mlir::TypedAttr value) override;

  /// Every block folds a split of its own of the streamed dims.
  bool isSplit = false;
  /// The threads of a block, in whole warps.
  unsigned threads;
  /// The number of this thread in its block.
  mlir::Value thread;
  /// What threads exchange, and the shared memory for that.
  SharedWords words;

  /// The threads that a contraction by matrix instructions can use.
  int64_t threadsOf(const LoopNest &nest) const;

protected:
  using Parts = SharedWords::Parts;
  void combineParts(ReduceOp reduce, Parts &parts,
                    llvm::ArrayRef<mlir::Value> other);
  void foldLanes(ReduceOp reduce, Parts &parts);
  void barrier();
  mlir::Value divide(mlir::Value number, mlir::Value by, bool remainder);

  void emitAssert(const Root &root, mlir::Value condition, Env &env) override;
  /// Whether the point of `env` exists along these dims; null: it does.
  virtual mlir::Value existsAt(const Env &env, const llvm::SmallBitVector &) {
    return env.mask;
  }
  llvm::MaybeAlign alignmentOf(mlir::MemRefType type,
                               mlir::AffineMap map) override;

  /// Threads of a warp or wave: those that shuffles reach.
  const unsigned warpSize;
  unsigned wideLanes;

  /// One dim of a numbering of points: `step` of its positions make one point.
  struct Axis {
    unsigned dim;
    int64_t step = 1;
  };
  using Axes = llvm::SmallVector<Axis>;
  mlir::Value countOf(llvm::ArrayRef<Axis> axes);
  std::optional<int64_t> staticCountOf(llvm::ArrayRef<Axis> axes) const;
  void bindAxes(Env &env, llvm::ArrayRef<Axis> axes, mlir::Value number);
  TileShape shape() const { return {dims, isSplit}; }
  bool isMultiple(unsigned dim, int64_t by) const {
    return shape().isMultiple(dim, by);
  }

  /// A contraction as it is dealt out, and the thread's place in it.
  struct MatrixNest : MatrixTiling {
    using MatrixTiling::MatrixTiling;
    Axes batch, rows, columns, sums;
    mlir::Value lane;
  };
  void setAxes(MatrixNest &plan) const;
  bool hasWholeTiles(llvm::ArrayRef<Axis> axes, int64_t by);
  void storeFragments(const MatrixNest &plan, const Env &tile, mlir::Value row,
                      mlir::Value column,
                      llvm::ArrayRef<mlir::Value> accumulators);
  mlir::Value columnOfRun(const MatrixNest &plan, mlir::Value first,
                          mlir::Value part, int64_t add, int64_t ct);
  mlir::Value partOf(LaneField field, mlir::Value lane);

private:
  // What nests of a kind are emitted by.
  friend class TeamReduction;
  friend class WarpProduct;
  friend class WarpTopK;

  // Numberings ----------------------------------------------------------------
  Axes axesOf(llvm::ArrayRef<unsigned> ofDims) const;
  mlir::Value stepsOf(Axis axis);
  int64_t capacityOf(llvm::ArrayRef<Axis> axes) const;
  void spread(llvm::ArrayRef<Axis> axes, llvm::function_ref<void(Env &)> body,
              int64_t unrolled = 16);
  llvm::SmallVector<mlir::Value> emitStridedLoop(
      mlir::Value first, mlir::Value limit, std::optional<int64_t> count,
      int64_t step, int64_t unrolled, mlir::ValueRange state,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                        mlir::ValueRange)>
          body);

  void emitContraction();

  /// The dim whose points neighbouring threads take.
  std::optional<unsigned> fastDim;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_SHAREDMEMORY_GPUEMITTER_H
