//===- PointNumbering.h - points of a nest by numbers -----------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_SHAREDMEMORY_POINTNUMBERING_H
#define REDFUSE_CODEGEN_GPU_SHAREDMEMORY_POINTNUMBERING_H

#include "redfuse/Codegen/Common/TileEmitter.h"

namespace redfuse {

/// Numbers the points of some dims of a tile, the last dim fastest, so that they can be
/// dealt out.
class PointNumbering {
public:
  PointNumbering(mlir::OpBuilder &b, mlir::Location loc,
                 llvm::MutableArrayRef<SpaceDim> dims, TileEmitter &emitter)
      : b(b), loc(loc), dims(dims), emitter(emitter) {}

  /// One dim of a numbering of points: `step` of its positions make one point.
  struct Axis {
    unsigned dim;
    int64_t step = 1;
  };
  using Axes = llvm::SmallVector<Axis>;

  /// The number of points.
  mlir::Value countOf(llvm::ArrayRef<Axis> axes);
  std::optional<int64_t> staticCountOf(llvm::ArrayRef<Axis> axes) const;
  /// Whether tiles of so many end where the axes do.
  bool hasWholeTiles(llvm::ArrayRef<Axis> axes, int64_t by) const;
  /// Binds the dims of `axes` to point `number`; the last axis runs fastest.
  void bind(Env &env, llvm::ArrayRef<Axis> axes, mlir::Value number);
  /// Points of a tile are few: 32 bits, in which division is several times faster.
  mlir::Value divide(mlir::Value number, mlir::Value by, bool remainder);
  /// The points `first`, `first + step`, ... below `limit`, where `first` is below
  /// `step`. If there is a known `count` of points and all threads have the same
  /// few, one after another without a loop: what one nest has in registers is
  /// there for the next (ReuseValues).
  llvm::SmallVector<mlir::Value> emitStridedLoop(
      mlir::Value first, mlir::Value limit, std::optional<int64_t> count,
      int64_t step, int64_t unrolled, mlir::ValueRange state,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                        mlir::ValueRange)>
          body);

private:
  mlir::Value stepsOf(Axis axis);

  mlir::OpBuilder &b;
  mlir::Location loc;
  llvm::MutableArrayRef<SpaceDim> dims;
  TileEmitter &emitter;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_SHAREDMEMORY_POINTNUMBERING_H
