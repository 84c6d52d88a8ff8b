//===- ContractionEpilogue.h - what is made of a tile's sums ----*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONEPILOGUE_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONEPILOGUE_H

#include "ContractionTile.h"
#include "WgmmaProducts.h"

namespace redfuse {

/// Goes on with the sums of warpgroups, by way of the stages.
class ContractionEpilogue : ContractionPart {
public:
  ContractionEpilogue(ContractionEmitter &emitter,
                      const ContractionTiling &tiling,
                      const ContractionTile &tile, WgmmaProducts &products)
      : ContractionPart(emitter, tiling, tile), products(products) {}

  void store(llvm::ArrayRef<mlir::Value> sums);

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
  void leaveSums(llvm::ArrayRef<mlir::Value> sums);
  void orderResults();
  void storeVectors();
  ResultPlace placeAt(mlir::Value row, mlir::Value column);
  mlir::scf::IfOp storeAt(ResultPlace &place);

  WgmmaProducts &products;
  ResultOrder order;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_CONTRACTIONEPILOGUE_H
