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
  /// The words that a lane has in a slab of its row of that number.
  using Fragments =
      llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t, int64_t)>;
  /// Adds the products of a stage; of operands that lanes compute, `direct` has the words.
  void multiply(mlir::Value stage, llvm::SmallVectorImpl<mlir::Value> &sums,
                Fragments direct = {});
  /// What a lane has of the columns of a slab, and of its first rows.
  llvm::SmallVector<mlir::Value> readFirst(mlir::Value stage, int64_t slab);
  /// Adds the products of a slab, of which the first have been read. Rows are read before
  /// those in front of them are multiplied; then, when all have been read, `getNext` says
  /// in which stage the next slab is, whose first are read.
  llvm::SmallVector<mlir::Value>
  multiplyAndRead(llvm::ArrayRef<mlir::Value> first,
                  llvm::MutableArrayRef<mlir::Value> sums, mlir::Value stage,
                  int64_t slab, llvm::function_ref<mlir::Value()> getNext);
  /// The row and column of the lane's sum of that number in the tile (i32).
  std::pair<mlir::Value, mlir::Value> placeOf(mlir::Value number);
  /// Writes a lane's sums to a tile in shared memory, rows of which begin `pitch` words
  /// one behind the other.
  void leaveSums(llvm::ArrayRef<mlir::Value> sums, int64_t pitch);

private:
  using Rows = llvm::SmallVector<llvm::SmallVector<mlir::Value>>;
  void multiplySlab(mlir::Value stage, int64_t slab,
                    llvm::MutableArrayRef<mlir::Value> sums, Fragments direct);
  void multiplyOnce(const Rows &a, const Rows &c,
                    llvm::MutableArrayRef<mlir::Value> sums);
  void multiplyTile(llvm::ArrayRef<llvm::SmallVector<mlir::Value>> a,
                    const Rows &c, int64_t rt, int64_t ct, int64_t step,
                    llvm::MutableArrayRef<mlir::Value> sums);
  int64_t stepsOfSlab() const;
  /// Rows that are read by one access, and multiplied one behind the other.
  int64_t rowsTogether() const { return std::min<int64_t>(left.count, 2); }
  void multiplyParts(const Rows &a, const Rows &c,
                     llvm::MutableArrayRef<mlir::Value> sums);
  llvm::MutableArrayRef<mlir::Value>
  sumsOf(llvm::MutableArrayRef<mlir::Value> sums, int64_t rowTile,
         int64_t columnTile) const;
  llvm::ArrayRef<mlir::Value> wordsOf(llvm::ArrayRef<mlir::Value> row,
                                      int64_t step) const;
  llvm::SmallVector<mlir::Value> loadElements(mlir::Value at, int64_t count);
  Rows readFragment(const OperandSide &side, mlir::Value stage, int64_t slab,
                    int64_t begin, int64_t end);
  Rows readBySums(const OperandSide &side, mlir::Value stage, int64_t slab,
                  int64_t begin, int64_t end);
  mlir::Value roundWord(mlir::Value word);

  StagePlaces places;
  /// Products are added to the sums by the unit, which cuts digits off.
  bool isAddedByUnit;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_CONTRACTIONS_MMASYNCPRODUCTS_H
