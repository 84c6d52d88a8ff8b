//===- MatrixTiling.h - matrix instructions of a product --------*- C++ -*-===//
#ifndef REDFUSE_CODEGEN_GPU_SHAREDMEMORY_MATRIXTILING_H
#define REDFUSE_CODEGEN_GPU_SHAREDMEMORY_MATRIXTILING_H

#include "redfuse/Codegen/Common/TileEmitter.h"

namespace redfuse {

/// What is known of a block's tile before there is code.
struct TileShape {
  llvm::ArrayRef<SpaceDim> dims;
  /// Every block folds a split of its own of the streamed dims.
  bool isSplit = false;

  /// Whether every tile of `d` holds a multiple of `by` and starts at one.
  bool isMultiple(unsigned d, int64_t by) const;
  /// Points along one dim, or several; what is not known counts as long.
  int64_t capacityOf(unsigned d) const;
  int64_t capacityOf(llvm::ArrayRef<unsigned> ofDims) const;
};

/// A number, or a vector of them, as an operand of a matrix instruction has it; an
/// integer with or without a sign.
mlir::Value convertElement(mlir::OpBuilder &b, mlir::Location loc,
                           mlir::Value v, mlir::Type to, bool isSigned);

/// How a contraction is dealt out to the warps of a block: the result is cut into
/// tiles of a few instructions, which a warp makes one after another.
class MatrixTiling {
public:
  /// The tiling that takes the least time of so many warps. No code is needed to
  /// know it.
  MatrixTiling(const MatrixForm &form, const TileProgram &program,
               const TileShape &shape, int64_t warps);
  /// Tiles that others have chosen.
  MatrixTiling(const MatrixForm &form, const TileProgram &program,
               const TileShape &shape, int64_t rowTiles, int64_t columnTiles,
               int64_t sumTiles)
      : form(form), x(form.instruction), rowTiles(rowTiles),
        columnTiles(columnTiles), sumTiles(sumTiles), program(program),
        shape(shape) {}

  const MatrixForm &form;
  const MatrixInstruction &x;
  /// Instructions of a warp's tile along rows, columns and one step of the sum.
  int64_t rowTiles = 1, columnTiles = 1, sumTiles = 1;

  /// Elements of a lane's part.
  int64_t laneRows() const { return rowTiles * x.rowsPerLane; }
  int64_t laneSums() const { return sumTiles * x.sumsPerLane; }
  int64_t tileRows() const { return rowTiles * x.rows; }
  int64_t tileColumns() const { return columnTiles * x.columns; }
  int64_t step() const { return sumTiles * x.sums; }

  /// Elements of one access to an operand, of which a lane has `count` neighbours along
  /// the dim `along` and the sums of a step, and whether they are those along the dim.
  std::pair<int64_t, bool> accessOf(mlir::Value source, unsigned along,
                                    int64_t count) const;

private:
  void chooseTile(int64_t warps);
  int64_t countAccesses() const;
  bool halve();

  const TileProgram &program;
  TileShape shape;
};

} // namespace redfuse

#endif // REDFUSE_CODEGEN_GPU_SHAREDMEMORY_MATRIXTILING_H
