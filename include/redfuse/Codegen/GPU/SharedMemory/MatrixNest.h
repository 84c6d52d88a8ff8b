//===- MatrixNest.h - results of matrix instructions ------------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_SHAREDMEMORY_MATRIXNEST_H
#define REDFUSE_CODEGEN_GPU_SHAREDMEMORY_MATRIXNEST_H

#include "redfuse/Codegen/GPU/SharedMemory/GpuEmitter.h"

namespace redfuse {

/// A contraction as it is dealt out, and the thread's place in it.
struct MatrixNest : MatrixTiling {
  using MatrixTiling::MatrixTiling;
  PointNumbering::Axes batch, rows, columns, sums;
  mlir::Value lane;

  void setAxes();
};

/// Goes on with what the lanes of a warp have of a contraction's result.
class MatrixFragments : NestEmitter {
public:
  using NestEmitter::NestEmitter;

  /// Which part of a dim of the instruction a lane has.
  mlir::Value partOf(LaneField field, mlir::Value lane);
  /// Emits what follows the contraction, of a tile from `row` and `column` on.
  void store(const MatrixNest &plan, const Env &tile, mlir::Value row,
             mlir::Value column, llvm::ArrayRef<mlir::Value> accumulators);

private:
  void storeVectors(const MatrixNest &plan, const Env &tile, mlir::Value row,
                    mlir::Value column,
                    llvm::ArrayRef<mlir::Value> accumulators, int64_t width);
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_SHAREDMEMORY_MATRIXNEST_H
