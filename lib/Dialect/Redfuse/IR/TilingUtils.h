//===- TilingUtils.h - what full and partial tiling share -------*- C++ -*-===//
//-*-===//
#ifndef REDFUSE_LIB_DIALECT_TILINGUTILS_H
#define REDFUSE_LIB_DIALECT_TILINGUTILS_H

#include "redfuse/Dialect/Redfuse/IR/DimSets.h"
#include "redfuse/Dialect/Redfuse/IR/Redfuse.h"

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"

namespace redfuse {

/// The tile of one operand: its value, the map into it, and the slice that was
/// made for it (null where the tile is the operand itself).
struct TileOfOperand {
  mlir::Value value;
  mlir::AffineMap map;
  mlir::Operation *slice;
};

llvm::SmallVector<mlir::AffineMap> getInitMaps(IndexProgramOpInterface op);

/// The dims of which the tile has everything.
SmallBitVector getWholeDims(mlir::OpBuilder &b, IndexProgramOpInterface op,
                            llvm::ArrayRef<mlir::OpFoldResult> offsets,
                            llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// Emits an error at `op` where a dim that is not whole cannot be cut.
llvm::LogicalResult verifyCuts(IndexProgramOpInterface op,
                               const SmallBitVector &whole, bool mayRecompute);

/// The slice of an operand (inputs, then inits) that a tile needs.
llvm::FailureOr<TileOfOperand>
sliceOperand(mlir::OpBuilder &b, IndexProgramOpInterface op,
             unsigned operandNumber, llvm::ArrayRef<mlir::OpFoldResult> offsets,
             llvm::ArrayRef<mlir::OpFoldResult> sizes,
             const SmallBitVector &whole);

/// Adds the tile's offsets to every `redfuse.index` in `tiled`.
void offsetIndices(mlir::OpBuilder &b, mlir::Operation *tiled,
                   llvm::ArrayRef<mlir::OpFoldResult> offsets);

/// `op` on other operands of the same kinds, with other maps.
mlir::Operation *createTile(mlir::OpBuilder &b, IndexProgramOpInterface op,
                            llvm::ArrayRef<mlir::Value> operands,
                            llvm::ArrayRef<mlir::AffineMap> maps,
                            llvm::ArrayRef<mlir::OpFoldResult> offsets);

} // namespace redfuse

#endif // REDFUSE_LIB_DIALECT_TILINGUTILS_H
