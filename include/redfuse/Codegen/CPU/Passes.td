//===- Passes.td - from kernels to loops and vectors -------*- tablegen -*-===//
#ifndef REDFUSE_CODEGEN_CPU_PASSES_TD
#define REDFUSE_CODEGEN_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanPacking : Pass<"redfuse-plan-packing", "mlir::ModuleOp"> {
  let summary = "Choose how a CPU packs the operands of sums of products";
  let description = [{
    A kernel that is one sum of products and what is computed of it element by element
    reads each operand many times. Where it is large enough, a block copies what it has of
    both operands into memory of its own, in the order in which a microkernel multiplies
    them: of the sum as much at a time as stays in the caches. Operands that are computed,
    converted, transposed or taken from windows become so on the way. The launch gets
    the plan that takes the least time as predicted; what has a plan keeps it, and
    what is faster without packing gets none.

    ```mlir
    redfuse.launch @k ins(%a, %b : memref<1024x1024xf32>, memref<1024x1024xf32>)
        outs(%c : memref<1024x1024xf32>)
    ```

    becomes, for two cores,

    ```mlir
    redfuse.launch @k ins(%a, %b : memref<1024x1024xf32>, memref<1024x1024xf32>)
        outs(%c : memref<1024x1024xf32>) {redfuse.packing =
            #redfuse.packing_plan<tiles = [256, 512, 256], registers = [8, 3]>}
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

def SelectionsToCPU : Pass<"redfuse-selections-to-cpu", "mlir::ModuleOp"> {
  let summary = "Generate functions that select elements of rows";
  let description = [{
    Every `redfuse.select` on buffers becomes a call, marked `redfuse.parallel`, of a
    function over its rows. Of each row the elements with their positions, as integers
    that are in order, go to scratch memory, where a radix sort puts them in order.
    Where few ranks of a long row are wanted, the scratch is shorter than the row:
    when it is full, it is sorted, the ranks are kept, and from then on only what goes
    before the last of them is added.

    ```mlir
    func.func @f(%x: memref<8x512xf32>, %v: memref<8x512xf32>) {
      redfuse.select ins(%x : memref<8x512xf32>) values(%v : memref<8x512xf32>)
      return
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: memref<8x512xf32>, %v: memref<8x512xf32>) {
      call @select_0(%c0, %c8, %x, %v) {redfuse.parallel}
          : (index, index, memref<8x512xf32>, memref<8x512xf32>) -> ()
      return
    }
    func.func private @select_0(%begin: index, %end: index, %x: memref<8x512xf32>, %v: memref<8x512xf32>) {
      // ... scratch memory for the words of a row, twice
      %scratch = call @redfuse_rt_scratch_view(%bytes) : (index) -> memref<?xi8>
      %words = memref.view %scratch[%c2048][%c1024] : memref<?xi8> to memref<?xi64>
      // ... for each row: fill, sort, store
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::func::FuncDialect",
    "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect"];
}

def KernelToCPU : Pass<"redfuse-kernel-to-cpu", "mlir::ModuleOp"> {
  let summary = "Generate a function over blocks for every kernel";
  let description = [{
    Every `redfuse.launch` on buffers becomes a call, marked `redfuse.parallel`,
    of a function that runs a range of the kernel's blocks: a loop over the grid,
    in it the tile program of each op of the kernel as loops of vector code, with
    every intermediate in tiles of the thread's scratch memory. A fold becomes a
    loop over the tiles of its streamed dims that carries the state; contractions
    become register tiles, of packed operands where the launch has a plan for that
    (`redfuse-plan-packing`); ragged ends are masked. Lanes of a vector are rows of a
    scan, or neighbours in one row where that costs less memory, unless `strict`. Tiles of a fold
    that a comparison of positions leaves out are not walked, unless `strict`.

    ```mlir
    #id = affine_map<(i) -> (i)>
    func.func @f(%x: memref<64xf32>, %out: memref<64xf32>) {
      redfuse.launch @k ins(%x : memref<64xf32>) outs(%out : memref<64xf32>)
      return
    }
    redfuse.kernel @k attributes {num_inputs = 1 : i64,
        schedule = #redfuse.schedule<map, grid = [0], tiles = [16]>} {
    ^bb0(%x: tensor<64xf32>, %out: tensor<64xf32>):
      %r = redfuse.cascade {indexing_maps = [#id, #id]}
          ins(%x : tensor<64xf32>) outs(%out : tensor<64xf32>) {
      ^bb0(%a: f32):
        %e = math.exp %a : f32
        redfuse.yield %e : f32
      } -> tensor<64xf32>
      redfuse.yield %r : tensor<64xf32>
    }
    ```

    becomes (constants are left out)

    ```mlir
    func.func @f(%x: memref<64xf32>, %out: memref<64xf32>) {
      call @k(%c0, %c4, %x, %out) {redfuse.parallel}
          : (index, index, memref<64xf32>, memref<64xf32>) -> ()
      // ...
    }
    func.func private @k(%begin: index, %end: index, %x: memref<64xf32>,
        %out: memref<64xf32>) attributes {redfuse.kernel_body} {
      scf.for %block = %begin to %end step %c1 {
        %first = arith.muli %block, %c16 : index
        scf.for %i = %c0 to %c16 step %c8 {
          %at = arith.addi %first, %i : index
          %a = vector.load %x[%at] : memref<64xf32>, vector<8xf32>
          %e = math.exp %a : vector<8xf32>
          vector.store %e, %out[%at] : memref<64xf32>, vector<8xf32>
        // ...
    }
    ```
  }];
  let options = [Option<"vectorBits", "vector-bits", "int64_t", "0",
                        "width of a vector register; 0: that of the module's redfuse.target">,
                 Option<"strict", "strict", "bool", "false",
                        "elements of a row whose prefixes are results are combined "
                        "one after the other, and what masks leave out is walked">];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::arith::ArithDialect", "mlir::func::FuncDialect",
                           "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect",
                           "mlir::vector::VectorDialect", "mlir::affine::AffineDialect",
                           "mlir::cf::ControlFlowDialect"];
}

#endif // REDFUSE_CODEGEN_CPU_PASSES_TD
