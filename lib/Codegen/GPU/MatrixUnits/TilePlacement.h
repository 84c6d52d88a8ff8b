//===- TilePlacement.h - where a tile of results is -------------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_TILEPLACEMENT_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_TILEPLACEMENT_H

#include "StreamRanges.h"

namespace redfuse {

/// What a block copies of a tile: where that is in its tensor, the innermost dim first; where
/// several copy a part each, its first row in the tile (i32), and for which blocks of the
/// cluster it is (i16, a bit each).
struct TilePart {
  llvm::SmallVector<mlir::Value> coordinates;
  mlir::Value row, blocks;
};

/// Where the block's tile of results is, and where its operands are. Neighbours in the
/// order of tiles share what they read while it stays in the L2 cache.
class TilePlacement : KernelPart {
public:
  TilePlacement(MatrixKernel &of, StreamRanges &stream)
      : KernelPart(of), stream(stream) {}

  /// Tells the emitter where the tile of that number is in every dim; for consumers
  /// the thread's rows, too.
  void enter(mlir::Value number, bool isConsumer);
  void placeThread();
  /// Distributes the block's rows from `first` on over all of its warps; returns the
  /// thread's first one.
  mlir::Value takeRows(FragmentLayout rows, mlir::Value first);

  mlir::Value getFirstRow() const { return firstRow; }
  mlir::Value getLastRow() const { return lastRow; }
  /// The warp's first row in the block.
  mlir::Value rowOfWarp();

  /// Where the other dims of a sum stand in a tile of it, which becomes one along `sum`.
  llvm::SmallVector<std::pair<unsigned, mlir::Value>>
  inOuterSums(llvm::ArrayRef<unsigned> outerSums, unsigned sum,
              mlir::Value &sumTile);
  /// Where every dim stands at the first element of a tile.
  llvm::SmallVector<mlir::Value> positionsOf(const MatrixTile &tile,
                                             mlir::Value sumTile);
  /// Where a tile starts in its tensor, the innermost dim first.
  llvm::SmallVector<mlir::Value> coordinatesOf(const MatrixTile &tile,
                                               mlir::Value sumTile);
  /// The part of it that this block copies.
  TilePart partOf(const MatrixTile &tile, mlir::Value sumTile);
  llvm::SmallVector<mlir::Value>
  coordinatesAt(const MatrixTile &tile, llvm::ArrayRef<mlir::Value> positions);

private:
  /// Neighbours, of which as many are a band as divide all of them, where those are
  /// known.
  struct TileBand {
    mlir::Value size;
    bool isEven;
  };
  TileBand cutBand(mlir::Value others);
  mlir::Value placeRows(mlir::Value number, llvm::ArrayRef<int64_t> grid);
  mlir::Value countTiles(unsigned d);
  void placeTile(unsigned d, mlir::Value position);
  mlir::Value divide(mlir::Value &x, mlir::Value by);

  StreamRanges &stream;
  /// The block's rows.
  mlir::Value firstRow, lastRow;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_TILEPLACEMENT_H
