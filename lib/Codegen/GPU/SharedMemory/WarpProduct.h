//===- WarpProduct.h - contractions by matrix instructions ------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_SHAREDMEMORY_WARPPRODUCT_H
#define REDFUSE_LIB_CODEGEN_GPU_SHAREDMEMORY_WARPPRODUCT_H

#include "redfuse/Codegen/GPU/SharedMemory/MatrixNest.h"

namespace redfuse {

/// Emits a contraction: the warps take tiles of its result, and make them by matrix
/// instructions.
class WarpProduct : NestEmitter {
public:
  explicit WarpProduct(GpuEmitter &emitter)
      : NestEmitter(emitter), fragments(emitter) {}

  void emit();

private:
  /// A lane's share of an operand: `count` rows (columns of a right operand).
  struct OperandFragment {
    mlir::Value source;
    MatrixElement element;
    bool isSigned;
    /// The positions of the rows, one for each access.
    llvm::SmallVector<Env> rows;
    int64_t count;
    /// Elements of one access, along rows or along the sum.
    int64_t width = 1;
    bool isAlongRows = false;
  };
  MatrixNest dealOut(const MatrixForm &form);
  void emitTile(const MatrixNest &plan, mlir::Value number,
                mlir::Value rowBlocks, mlir::Value columnBlocks);
  OperandFragment makeFragment(const MatrixNest &plan, mlir::Value source,
                               MatrixElement element, bool isSigned,
                               llvm::ArrayRef<Axis> axes, int64_t count,
                               mlir::Value first, bool isWhole,
                               const Env &tile);
  llvm::SmallVector<mlir::Value> sumProducts(const MatrixNest &plan,
                                             const OperandFragment &left,
                                             const OperandFragment &right);
  llvm::SmallVector<mlir::Value> loadStep(const MatrixNest &plan,
                                          const OperandFragment &left,
                                          const OperandFragment &right,
                                          mlir::Value sum, bool isTail);
  llvm::SmallVector<mlir::Value>
  multiplyStep(const MatrixNest &plan, llvm::ArrayRef<mlir::Value> loaded,
               llvm::ArrayRef<mlir::Value> state);
  llvm::SmallVector<llvm::SmallVector<mlir::Value>>
  loadFragment(const MatrixNest &plan, const OperandFragment &fragment,
               mlir::Value sum, bool isTail);

  MatrixFragments fragments;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_SHAREDMEMORY_WARPPRODUCT_H
