//===- CascadeMainloop.h - products that nothing folds ----------*- C++ -*-===//
#ifndef REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_CASCADEMAINLOOP_H
#define REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_CASCADEMAINLOOP_H

#include "Products.h"
#include "WarpCopies.h"

namespace redfuse {

/// The products of a cascade, one after another. Their results are values of the body.
class CascadeMainloop : KernelPart {
public:
  CascadeMainloop(MatrixKernel &of, TilePipeline &pipeline, Products &products,
                  SumRanges &sums, WarpCopies &copies)
      : KernelPart(of), pipeline(pipeline), products(products), sums(sums),
        copies(copies) {}

  PipelineState run(PipelineState ring);
  /// Where all warps copy.
  void runWithMmaSync();

private:
  llvm::SmallVector<mlir::Value> multiplyRows(unsigned product);
  llvm::SmallVector<mlir::Value> multiplyTiledRows(unsigned product);

  TilePipeline &pipeline;
  Products &products;
  SumRanges &sums;
  WarpCopies &copies;
};

} // namespace redfuse

#endif // REDFUSE_LIB_CODEGEN_GPU_MATRIXUNITS_CASCADEMAINLOOP_H
