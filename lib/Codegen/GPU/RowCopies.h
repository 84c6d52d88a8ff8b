//===- RowCopies.h - copies of rows, by shared kernels ----------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_ROWCOPIES_H
#define REDFUSE_LIB_CODEGEN_GPU_ROWCOPIES_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"

namespace redfuse {

/// A copy as one of rows, each in one piece on both sides.
struct RowCopy {
  int64_t rows, columns;
  /// Elements from one row to the next, and before the first one.
  int64_t sourcePitch, targetPitch, sourceOffset, targetOffset;
  /// Elements that a thread moves at once.
  int64_t lanes;
  /// Such moves of a thread.
  int64_t moves;
  /// Rows are short: a block copies several, its threads counting through all of them.
  bool areShort;

  /// Nothing where the sides have no such rows.
  static std::optional<RowCopy> find(mlir::memref::CopyOp copy);

  int64_t getBlockColumns() const;
  int64_t getBlocksOfRow() const;
  int64_t getBlocks() const;
};

/// The kernels of such copies. A program may have hundreds, as it puts parts beside
/// each other: what their sizes are is a matter of arguments, and the machine code is
/// one for each kind of element and access.
class RowCopies {
public:
  /// Whether `copy` was replaced by a launch; `makeName` names a new kernel.
  bool launch(mlir::memref::CopyOp copy, mlir::gpu::GPUModuleOp device,
              llvm::function_ref<std::string()> makeName);

private:
  static mlir::gpu::GPUFuncOp make(mlir::Location loc, mlir::Type element,
                                   const RowCopy &rows,
                                   mlir::gpu::GPUModuleOp device,
                                   llvm::StringRef name);

  /// By element, lanes, moves, and whether rows are short.
  llvm::MapVector<std::tuple<mlir::Type, int64_t, int64_t, unsigned>,
                  mlir::gpu::GPUFuncOp>
      kernels;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_ROWCOPIES_H
