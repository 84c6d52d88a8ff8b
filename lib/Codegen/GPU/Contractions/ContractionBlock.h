//===- ContractionBlock.h - what a block of a contraction does --*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONBLOCK_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONBLOCK_H

#include "ContractionEmitter.h"
#include "SumSplits.h"

#include "redfuse/Codegen/GPU/SharedMemory/MatrixNest.h"

namespace redfuse {

/// A block's tile of a contraction, or its share of the sum of one: mainloop and epilogue.
class ContractionBlock : NestEmitter {
public:
  struct Memory {
    /// Shared memory as words.
    mlir::Value words;
    SumSplits::Memory splits;
    /// Tensor maps of operands.
    llvm::SmallVector<mlir::Value> maps;
  };
  ContractionBlock(ContractionEmitter &emitter, const ContractionTiling &tiling,
                   const Memory &memory)
      : NestEmitter(emitter), emitter(emitter), tiling(tiling), memory(memory) {
  }

  /// Emits the block of that number, of a contraction's nest.
  void emit(const LoopNest &nest, mlir::Value block);

private:
  void emitTile(mlir::Value block);
  void placeTile(ContractionTile &tile, llvm::ArrayRef<Axis> batch,
                 mlir::Value number);
  void placeWarp(ContractionTile &tile);
  mlir::Value addSlices(const ContractionTile &tile,
                        llvm::SmallVectorImpl<mlir::Value> &sums);
  void storeFragments(const MatrixNest &nest, const ContractionTile &tile,
                      llvm::ArrayRef<mlir::Value> sums);

  ContractionEmitter &emitter;
  const ContractionTiling &tiling;
  const Memory &memory;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONBLOCK_H
