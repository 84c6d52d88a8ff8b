//===- SumRepair.h - sums that parts of factors do not have -----*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_SUMREPAIR_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_SUMREPAIR_H

#include "ContractionTile.h"
#include "SumOrder.h"

namespace redfuse {

/// What is not finite, or so small that parts of its factors are no floats any more, is
/// computed anew: parts of infinities and of the largest floats make NaN. That is
/// rare, and takes as long as it takes.
class SumRepair : ContractionPart {
public:
  /// `placeOf`: the row and column of the lane's sum of a number in the tile (i32).
  using PlaceOf =
      llvm::function_ref<std::pair<mlir::Value, mlir::Value>(mlir::Value)>;

  SumRepair(ContractionEmitter &emitter, const ContractionTiling &tiling,
            const ContractionTile &tile, SumOrder &order)
      : ContractionPart(emitter, tiling, tile), order(order) {}

  void repair(const SumShare &share, PlaceOf placeOf,
              llvm::SmallVectorImpl<mlir::Value> &sums);

private:
  mlir::Value computeAnew(const SumShare &share, mlir::Value row,
                          mlir::Value column);

  SumOrder &order;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_SUMREPAIR_H
