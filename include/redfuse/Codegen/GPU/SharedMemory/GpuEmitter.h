//===- GpuEmitter.h - tile programs as code of one GPU thread ---*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_SHAREDMEMORY_GPUEMITTER_H
#define REDFUSE_CODEGEN_GPU_SHAREDMEMORY_GPUEMITTER_H

#include "redfuse/Codegen/GPU/SharedMemory/MatrixTiling.h"
#include "redfuse/Codegen/GPU/SharedMemory/PointNumbering.h"
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
        words(b, loc, *this, warpSize), points(b, loc, dims, *this),
        warpSize(warpSize), wideLanes(lanes) {}

  mlir::LogicalResult emitNest(const LoopNest &nest) override;
  void emitFill(const TileBuffer &buffer, mlir::TypedAttr value) override;

  /// Every block folds a split of its own of the streamed dims.
  bool isSplit = false;
  /// The target has instructions that find the largest or smallest word of a warp
  /// (`gpu.subgroup_reduce`).
  bool reducesWords = false;
  /// The threads of a block, in whole warps.
  unsigned threads;
  /// The number of this thread in its block.
  mlir::Value thread;
  /// What threads exchange, and the shared memory for that.
  SharedWords words;

  /// The threads that a contraction by matrix instructions can use.
  int64_t threadsOf(const LoopNest &nest) const;

  // For what emits nests of a kind --------------------------------------------
  using Parts = SharedWords::Parts;
  using Axis = PointNumbering::Axis;
  using Axes = PointNumbering::Axes;
  /// Threads of a warp or wave: those that shuffles reach.
  unsigned getWarpSize() const { return warpSize; }
  /// The dim whose points neighbouring threads take.
  std::optional<unsigned> getFastDim() const { return fastDim; }
  TileShape shape() const { return {dims, isSplit}; }
  bool isMultiple(unsigned dim, int64_t by) const {
    return shape().isMultiple(dim, by);
  }
  /// A numbering of points of the nest, in vectors along its vector dim.
  Axes axesOf(llvm::ArrayRef<unsigned> ofDims) const;
  /// The count as far as it is known at compile time; what is not counts as long.
  int64_t capacityOf(llvm::ArrayRef<Axis> axes) const;
  /// Runs `body` at every point of `axes`, each in one thread.
  void spread(llvm::ArrayRef<Axis> axes, llvm::function_ref<void(Env &)> body,
              int64_t unrolled = 16);
  void combineParts(ReduceOp reduce, Parts &parts,
                    llvm::ArrayRef<mlir::Value> other);
  /// A scalar of the lanes of one vector, as a tree.
  void foldLanes(ReduceOp reduce, Parts &parts);
  void barrier();

  PointNumbering points;

protected:
  void emitAssert(const Root &root, mlir::Value condition, Env &env) override;
  /// Whether the point of `env` exists along these dims; null: it does.
  virtual mlir::Value existsAt(const Env &env, const llvm::SmallBitVector &) {
    return env.mask;
  }
  llvm::MaybeAlign alignmentOf(mlir::MemRefType type,
                               mlir::AffineMap map) override;

private:
  void emitContraction();

  const unsigned warpSize;
  unsigned wideLanes;
  std::optional<unsigned> fastDim;
};

/// Emits nests of a kind for an emitter.
class NestEmitter {
public:
  explicit NestEmitter(GpuEmitter &emitter)
      : emitter(emitter), points(emitter.points), b(emitter.getBuilder()),
        loc(emitter.getLoc()) {}

protected:
  using Axis = PointNumbering::Axis;
  using Axes = PointNumbering::Axes;
  using Parts = SharedWords::Parts;

  GpuEmitter &emitter;
  PointNumbering &points;
  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_SHAREDMEMORY_GPUEMITTER_H
