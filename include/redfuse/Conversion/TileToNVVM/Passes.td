//===- Passes.td - tile ops as NVVM ------------------------*- tablegen -*-===//
#ifndef REDFUSE_CONVERSION_TILETONVVM_PASSES_TD
#define REDFUSE_CONVERSION_TILETONVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerTiles : Pass<"redfuse-lower-tiles"> {
  let summary = "Lower the tile dialect to instructions";
  let description = [{
    Every op of the [tile dialect](tile.md) becomes the instructions of the chip of
    the module's `redfuse.target`: an op of the NVVM dialect where that says all, else
    inline PTX. Values of its types become registers: addresses of shared memory, and one value for
    each register of accumulators and operands, which loops and conditions carry.
    Instructions appear in the order of the ops. An op that the chip does not have is
    an error. So is one that breaks a rule that can be seen: a wait that gives elements of
    a product which may still run, or a stage released while a product, or the warp
    itself, may still read it.

    ```mlir
    module attributes {redfuse.target = #redfuse.target<"cuda", units = 132,
        vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300,
        launch_ns = 3000, chip = "sm_90">} {
      func.func @f(%at: i32) {
        %b = tile.barrier at %at
        tile.init_barrier %b arrivals 8
        tile.commit_copies
        return
      }
    }
    ```

    becomes

    ```mlir
    // ...
    func.func @f(%at: i32) {
      %arrivals = arith.constant 8 : i32
      llvm.inline_asm has_side_effects asm_dialect = att
          "mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}" %at, %arrivals
          : (i32, i32) -> ()
      llvm.inline_asm has_side_effects asm_dialect = att
          "cp.async.bulk.commit_group;", "~{memory}" : () -> ()
      return
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::LLVM::LLVMDialect",
                           "mlir::NVVM::NVVMDialect", "mlir::scf::SCFDialect"];
}

def TensorMapParameters : Pass<"redfuse-tensor-map-parameters"> {
  let summary = "Pass tensor maps to kernels as memory";
  let description = [{
    A kernel takes a tensor map as a `vector<16xi64>` and uses its address: an
    unrealized cast of the argument to a pointer. Here the argument becomes a
    pointer to constant memory of the launch (`llvm.byval`, `nvvm.grid_constant`),
    which is what copies by tensor map need.

    ```mlir
    llvm.func @k(%map: vector<16xi64>) attributes {nvvm.kernel} {
      %p = builtin.unrealized_conversion_cast %map : vector<16xi64> to !llvm.ptr
      llvm.inline_asm has_side_effects "prefetch.tensormap [$0];", "l" %p
          : (!llvm.ptr) -> ()
      llvm.return
    }
    ```

    becomes

    ```mlir
    llvm.func @k(%map: !llvm.ptr {llvm.align = 64 : i64, nvvm.grid_constant,
                                  llvm.byval = !llvm.array<128 x i8>})
        attributes {nvvm.kernel} {
      llvm.inline_asm has_side_effects "prefetch.tensormap [$0];", "l" %map
          : (!llvm.ptr) -> ()
      llvm.return
    }
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect"];
}

#endif // REDFUSE_CONVERSION_TILETONVVM_PASSES_TD
