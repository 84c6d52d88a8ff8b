//===- Epilogue.h - results of a tile ---------------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_EPILOGUE_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_EPILOGUE_H

#include "SharedStorage.h"
#include "TilePlacement.h"

namespace redfuse {

/// Finishes states and stores the results of a tile: by threads, by copies of boxes from
/// shared memory, or by warps that write whole rows from there. A warp writes its part of
/// shared memory after its last copy from there has been read, and ends after its last
/// one, too.
class Epilogue : KernelPart {
public:
  Epilogue(MatrixKernel &of, SharedStorage &storage, TilePlacement &placement)
      : KernelPart(of), storage(storage), placement(placement) {}

  /// The finalisation of a fold's states, and its results.
  void finalize(const llvm::DenseMap<unsigned, Fragment> &states);
  void storeResults();
  /// Whole, if it depends on fewer dims than the tensor has.
  void storeValue(mlir::Value memref, mlir::AffineMap map,
                  const Fragment &value);
  /// After all tiles.
  void finish();

private:
  /// Rows that a warp has.
  static constexpr int64_t kWarpRows = 16;

  void storeValues();
  void forEachRepetition(mlir::AffineMap map, llvm::function_ref<void()> store);
  void storeBoxed(const Fragment &value);
  void storeByRows(const Fragment &value, mlir::Value memref,
                   mlir::AffineMap map);
  struct RowPiece;
  void storeRowOfWords(const RowPiece &piece, mlir::Value row);
  void stageWords(llvm::ArrayRef<mlir::Value> values, const RowPiece &piece);
  void storeRow(const RowPiece &piece, mlir::Value row);
  void stage(llvm::ArrayRef<mlir::Value> values, mlir::Value into);
  mlir::Value firstRowOfWarp();
  void byFirstLane(mlir::Value lane, llvm::function_ref<void()> body);
  void waitForCopies(mlir::Value lane);

  SharedStorage &storage;
  TilePlacement &placement;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_EPILOGUE_H
