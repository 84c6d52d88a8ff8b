//===- SumSplits.h - blocks that share a sum --------------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_SUMSPLITS_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_SUMSPLITS_H

#include "ContractionTile.h"
#include "SumOrder.h"

namespace redfuse {

/// Where several blocks have a tile: each adds a part of its sum (split-K).
class SumSplits : ContractionPart {
public:
  /// Where blocks leave what they have, and count themselves.
  struct Memory {
    mlir::Value workspace, counters;
  };
  SumSplits(ContractionEmitter &emitter, const ContractionTiling &tiling,
            const ContractionTile &tile, const Memory &memory)
      : ContractionPart(emitter, tiling, tile), memory(memory) {}

  /// What the block of that number adds, in whole stages.
  SumShare shareOf(mlir::Value split, SumOrder &order);
  /// Stores what this block has, and goes on, in the block of the tile that is last,
  /// with the sums of all, added in the order of the splits.
  void
  merge(mlir::Value tileNumber, mlir::Value split,
        llvm::SmallVector<mlir::Value> sums,
        llvm::function_ref<void(llvm::SmallVectorImpl<mlir::Value> &)> then);

private:
  Memory memory;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_SUMSPLITS_H
