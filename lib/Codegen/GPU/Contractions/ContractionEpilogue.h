//===- ContractionEpilogue.h - what is made of a tile's sums ----*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONEPILOGUE_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONEPILOGUE_H

#include "ContractionTile.h"

namespace redfuse {

/// Goes on with the sums of a tile, by way of the stages.
class ContractionEpilogue : ContractionPart {
public:
  /// Writes a lane's sums to where they belong in the tile, whose rows begin so many words
  /// (even) one behind the other.
  using LeaveSums = llvm::function_ref<void(int64_t)>;

  ContractionEpilogue(ContractionEmitter &emitter,
                      const ContractionTiling &tiling,
                      const ContractionTile &tile)
      : ContractionPart(emitter, tiling, tile) {
    orderResults();
  }

  /// Whether the sums of warps are better stored this way than by their lanes: where a
  /// lane's neighbours are no vectors in memory, and the stages have room for the tile.
  bool isForWarps(llvm::ArrayRef<mlir::Value> sums) const;
  void store(LeaveSums leave);

private:
  /// How the results of a tile follow each other in memory: `ofFast` along one side, rows
  /// or columns, in vectors of `width` columns, then the other side.
  struct ResultOrder {
    bool isByRows = false, readsByRows = false;
    int64_t ofFast = 1, width = 1;
  };
  /// The vector of a thread: where its sums lie in shared memory (i32), whether the result
  /// exists (i1), and its indices.
  struct ResultPlace {
    mlir::Value sums, exists;
    Env env;
  };
  int64_t sumPitch() const;
  int64_t resultsAtOnce() const;
  void orderResults();
  void storeVectors();
  ResultPlace placeAt(mlir::Value row, mlir::Value column);
  mlir::scf::IfOp storeAt(ResultPlace &place);

  ResultOrder order;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONEPILOGUE_H
