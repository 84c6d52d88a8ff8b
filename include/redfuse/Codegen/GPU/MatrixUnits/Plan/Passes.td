//===- Passes.td - how matrix units are used ---------------*- tablegen -*-===//
#ifndef REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_PASSES_TD
#define REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanMatrices : Pass<"redfuse-plan-matrices", "mlir::ModuleOp"> {
  let summary = "Choose how kernels run on matrix units";
  let description = [{
    A kernel whose contractions are products of 16-bit floats can run on the matrix
    units of the chip of the module's `redfuse.target`: the `redfuse.launch` gets a
    `#redfuse.matrix_plan` that says all that is chosen, by the cost model or as hints of the schedule ask for it:
    tiles, where operands are, producer and consumer warps, the stages of the mainloop,
    blocks that share sums or folds, the tile scheduler's order, the epilogue, the
    threshold of rescaling.
    A launch whose kernel does not fit gets the reason (`redfuse.no_matrices`), and
    a remark. What has either keeps it.

    A launch of a kernel that multiplies two matrices,

    ```mlir
    redfuse.launch @k ins(%a, %b : memref<512x512xbf16>, memref<512x512xbf16>)
        outs(%c : memref<512x512xf32>)
    ```

    becomes, for an H100,

    ```mlir
    redfuse.launch @k ins(%a, %b : memref<512x512xbf16>, memref<512x512xbf16>)
        outs(%c : memref<512x512xf32>)
        {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0,
         tiles = [128, 128, 0], consumers = 2, consumer_rows = 64, stages = 7, ...>}
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

def LazyPivots : Pass<"redfuse-lazy-pivots", "mlir::ModuleOp"> {
  let summary = "Mark running maxima that may lag behind";
  let description = [{
    In the kernels of launches with a plan. Where a fold carries the maximum of a
    positive constant's multiple, it carries the maximum of what is multiplied
    instead; exponentials of distances from such a state are marked
    `redfuse.pivot`. Where the plan lets pivots lag, a maximum that step, merge and
    finalisation are free of (any other value there gives the same results) is
    marked `redfuse.lazy`, with what makes a distance from it a power of 2. The
    generated kernel moves such a pivot, and all that is relative to it, in a branch
    that few steps take. Launches of one kernel whose plans differ in this get kernels of
    their own.

    ```mlir
    %score = arith.mulf %product, %scale : f32
    %top = redfuse.reduce maximumf over [3] into [1] (%score) : (f32) -> f32
    %max = arith.maximumf %top, %state : f32
    %weight = math.exp %distance : f32
    ```

    becomes

    ```mlir
    %top = redfuse.reduce maximumf over [3] into [1] (%product) : (f32) -> f32
    %max = arith.maximumf %top, %state {redfuse.lazy = ...} : f32
    %weight = math.exp %distance {redfuse.pivot} : f32
    ```
  }];
}

#endif // REDFUSE_CODEGEN_GPU_MATRIXUNITS_PLAN_PASSES_TD
