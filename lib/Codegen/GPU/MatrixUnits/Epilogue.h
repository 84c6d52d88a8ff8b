//===- Epilogue.h - results of a tile ---------------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_EPILOGUE_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_EPILOGUE_H

#include "SharedStorage.h"
#include "TilePlacement.h"

namespace redfuse {

/// Finishes states and stores the results of a tile: by threads, or by copies from
/// shared memory. A warp writes its part of that after its last copy from there has
/// been read, and ends after its last one, too.
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
  void storeStaged(const Fragment &value);
  void byFirstLane(mlir::Value lane, llvm::function_ref<void()> body);
  void waitForCopies(mlir::Value lane);

  SharedStorage &storage;
  TilePlacement &placement;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_EPILOGUE_H
