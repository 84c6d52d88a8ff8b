//===- WgmmaProducts.h - products of a stage by warpgroups ------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_WGMMAPRODUCTS_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_WGMMAPRODUCTS_H

#include "StagePlaces.h"

#include "redfuse/Codegen/GPU/Common/Ptx.h"

namespace redfuse {

/// The products of a stage by units of warpgroups, which read it themselves, and run
/// while a step goes on.
class WgmmaProducts : ContractionPart {
public:
  WgmmaProducts(ContractionEmitter &emitter, const ContractionTiling &tiling,
                const ContractionTile &tile)
      : ContractionPart(emitter, tiling, tile), places(emitter, tiling, tile),
        ptx(b, loc) {}

  /// What comes in each step.
  struct Step {
    /// Waits for its stage, and says where it is.
    llvm::function_ref<mlir::Value(mlir::Value)> await;
    /// Its products have been started, or those of the step before are over: of operands
    /// in parts, its own.
    llvm::function_ref<void(mlir::Value)> isStarted, isOver;
  };
  /// The sums of a warpgroup after so many steps.
  llvm::SmallVector<mlir::Value> addSteps(mlir::Value steps, const Step &step);
  /// Where a stage has so many rows of a side, from `row` on (i32).
  mlir::Value sharedTile(const OperandSide &side, int64_t rows, mlir::Value row,
                         mlir::Value stage, bool isRest);
  /// The row and column of the lane's sum of that number in the tile (i32).
  std::pair<mlir::Value, mlir::Value> placeOf(mlir::Value number);
  /// Writes a lane's sums to a tile in shared memory, rows of which begin `pitch` words
  /// one behind the other.
  void leaveSums(llvm::ArrayRef<mlir::Value> sums, int64_t pitch);

private:
  mlir::Value multiplyStage(mlir::Value stage, mlir::Value sum,
                            bool isRestLeft = false, bool isRestRight = false);
  mlir::Value multiplyParts(mlir::Value stage);

  StagePlaces places;
  Ptx ptx;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_WGMMAPRODUCTS_H
