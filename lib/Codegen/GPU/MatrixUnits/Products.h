//===- Products.h - products of tiles on matrix units -----------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PRODUCTS_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PRODUCTS_H

#include "SharedStorage.h"
#include "TilePlacement.h"

namespace redfuse {

/// Products of tiles in the ring.
class Products : KernelPart {
public:
  Products(MatrixKernel &of, SharedStorage &storage, TilePipeline &pipeline,
           TilePlacement &placement, SumRanges &sums)
      : KernelPart(of), storage(storage), pipeline(pipeline),
        placement(placement), sums(sums) {}

  /// Starts a product whose left operand stays or is in registers, from zero or
  /// elements.
  mlir::Value start(unsigned product, mlir::Value stage,
                    mlir::ValueRange elements, mlir::Value left);
  /// A whole product with a tiled sum; nothing runs afterwards. Releases the
  /// stages of products that run when it is called.
  llvm::SmallVector<mlir::Value>
  multiplyTiled(unsigned product, PipelineState &ring,
                llvm::SmallVectorImpl<mlir::Value> &running);
  /// The rows of a warp as a left operand.
  mlir::Value readKept(const MatrixTile &tile, mlir::Value stage,
                       int64_t columns);
  /// The result of a product; one value for all rows that do not exist.
  Fragment asFragment(unsigned product, mlir::ValueRange elements);

private:
  mlir::Value multiplyTile(unsigned product, PipelineState at,
                           mlir::Value accumulators);
  llvm::SmallVector<mlir::Value> multiplyInParts(unsigned product,
                                                 PipelineState &ring);
  Fragment scaleOf(const MatrixProduct &product, mlir::Value sumTile);
  mlir::Value multiplyPart(unsigned product, mlir::Value stage, int64_t first);

  SharedStorage &storage;
  TilePipeline &pipeline;
  TilePlacement &placement;
  SumRanges &sums;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_PRODUCTS_H
