//===- MmaSyncProducts.h - products of a stage by warps ---------*- C++ -*-===//
//
// Any rows of memory may be those of an instruction: `count` neighbours belong to one
// part, as in WarpProduct.cpp; MatrixFragments stores the results.
//
//===----------------------------------------------------------------------===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_MMASYNCPRODUCTS_H
#define REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_MMASYNCPRODUCTS_H

#include "StagePlaces.h"

namespace redfuse {

/// The products of a stage by instructions of a warp (mma.sync).
class MmaSyncProducts : ContractionPart {
public:
  /// `summed`: elements of the sum, if that is known.
  MmaSyncProducts(ContractionEmitter &emitter, const ContractionTiling &tiling,
                  const ContractionTile &tile, std::optional<int64_t> summed)
      : ContractionPart(emitter, tiling, tile), places(emitter, tiling, tile),
        isAddedByUnit(form.leftIsRounded && form.rightIsRounded && summed &&
                      *summed <= kMostAddedByUnit * plan.getSplits()) {}

  llvm::SmallVector<mlir::Value> makeZeros();
  /// Adds the products of a stage.
  void multiply(mlir::Value stage, llvm::SmallVectorImpl<mlir::Value> &sums);
  /// The row and column of the lane's sum of that number in the tile (i32).
  std::pair<mlir::Value, mlir::Value> placeOf(mlir::Value number);

private:
  using Rows = llvm::SmallVector<llvm::SmallVector<mlir::Value>>;
  void multiplySlab(mlir::Value stage, int64_t slab,
                    llvm::MutableArrayRef<mlir::Value> sums);
  void multiplyOnce(const Rows &a, const Rows &c,
                    llvm::MutableArrayRef<mlir::Value> sums);
  void multiplyParts(const Rows &a, const Rows &c,
                     llvm::MutableArrayRef<mlir::Value> sums);
  llvm::MutableArrayRef<mlir::Value>
  sumsOf(llvm::MutableArrayRef<mlir::Value> sums, int64_t rowTile,
         int64_t columnTile) const;
  llvm::ArrayRef<mlir::Value> wordsOf(llvm::ArrayRef<mlir::Value> row,
                                      int64_t step) const;
  Rows readFragment(const OperandSide &side, mlir::Value stage, int64_t slab);
  Rows readBySums(const OperandSide &side, mlir::Value stage, int64_t slab);
  mlir::Value roundWord(mlir::Value word);

  StagePlaces places;
  /// Products are added to the sums by the unit, which cuts digits off.
  bool isAddedByUnit;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_MMASYNCPRODUCTS_H
