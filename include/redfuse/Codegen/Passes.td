//===- Passes.td - from kernels to code of a processor -----*- tablegen -*-===//
#ifndef REDFUSE_CODEGEN_PASSES_TD
#define REDFUSE_CODEGEN_PASSES_TD

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

def KernelToCPU : Pass<"redfuse-kernel-to-cpu", "mlir::ModuleOp"> {
  let summary = "Generate a function over blocks for every kernel";
  let description = [{
    Every `redfuse.launch` on buffers becomes a call, marked `redfuse.parallel`,
    of a function that runs a range of the kernel's blocks: a loop over the grid,
    in it the tile program of each op of the kernel as loops of vector code, with
    every intermediate in tiles of the thread's scratch memory. A fold becomes a
    loop over the tiles of its streamed dims that carries the state; contractions
    become register tiles, of packed operands where the launch has a plan for that
    (`redfuse-plan-packing`); ragged ends are masked.

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
                        "width of a vector register; 0: that of the module's redfuse.target">];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::arith::ArithDialect", "mlir::func::FuncDialect",
                           "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect",
                           "mlir::vector::VectorDialect", "mlir::affine::AffineDialect",
                           "mlir::cf::ControlFlowDialect"];
}

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

def PlanContractions : Pass<"redfuse-plan-contractions", "mlir::ModuleOp"> {
  let summary = "Choose tiles for kernels that are one sum of products";
  let description = [{
    A kernel that is one sum of products, of whatever is computed for each pair, and
    what is computed of the sum element by element, is generated with tiles of its
    operands in shared memory where the module's `redfuse.target` is a GPU with
    mma.sync and the types have instructions. Its launch gets the plan that takes the least time as
    predicted. What has a plan keeps it, and what other generators make faster gets
    none.

    ```mlir
    redfuse.launch @k ins(%a, %b : memref<512x800xf32>, memref<800x440xf32>)
        outs(%c : memref<512x440xf32>)
    ```

    becomes

    ```mlir
    redfuse.launch @k ins(%a, %b : memref<512x800xf32>, memref<800x440xf32>)
        outs(%c : memref<512x440xf32>) {redfuse.contraction =
            #redfuse.contraction_plan<warps = [2, 2], instructions = [2, 4], slabs = 2, splits = 2>}
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

def PlanProducts : Pass<"redfuse-plan-products", "mlir::ModuleOp"> {
  let summary = "Choose tiles for kernels with matrix instructions";
  let description = [{
    A kernel that has no plan for matrix units may have contractions that the matrix
    instructions of the chip of the module's `redfuse.target` make, whatever their
    operands are and wherever they lie. If that is better than registers, its launch
    gets tiles by iteration dim, as high and wide as instructions need them, instead
    of those of the schedule. What has a plan or tiles keeps them.

    ```mlir
    redfuse.launch @k ins(%a, %b : memref<64x80xf32>, memref<80x44xf32>)
        outs(%c : memref<64x44xf32>)
    ```

    becomes, where the schedule has `tiles = [4, 4, 0]`,

    ```mlir
    redfuse.launch @k ins(%a, %b : memref<64x80xf32>, memref<80x44xf32>)
        outs(%c : memref<64x44xf32>) {redfuse.product_tiles = array<i64: 16, 16, 0>}
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

def PlanRegisters : Pass<"redfuse-plan-registers", "mlir::ModuleOp"> {
  let summary = "Choose how kernels hold their tiles in registers";
  let description = [{
    The last of the plans: a launch that has none (`redfuse.matrices`,
    `redfuse.contraction`, `redfuse.product_tiles`) gets the layout in which registers hold the tiles of its
    kernel, if they can: which thread holds what, blocks that share a tile, what shared
    memory keeps, what is loaded when. What stays without any plan has its tiles in
    memory. What has a layout keeps it.

    ```mlir
    redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>)
    ```

    becomes, where a block has a row,

    ```mlir
    redfuse.launch @k ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>)
        {redfuse.registers = #redfuse.register_layout<threads = 32, cluster = 1, lanes = 4,
         dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>,
                 <lanes = 4, repeats = 2, threads = 32, bit = 0>], ...>}
    ```
  }];
  let options = [Option<"strict", "strict", "bool", /*default=*/"false",
      "rely on nothing that only the target's chip can do">];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

def KernelToGPU : Pass<"redfuse-kernel-to-gpu", "mlir::ModuleOp"> {
  let summary = "Generate a gpu.func for every kernel";
  let description = [{
    Every `redfuse.launch` on buffers becomes a `gpu.launch_func` of a `gpu.func`
    in the module's `gpu.module`, a block of threads for each block of the
    kernel's grid. The points of each loop nest are dealt out to the threads,
    16 bytes of contiguous data at a time; reductions are combined by shuffles
    and through shared memory. Tiles live in shared memory while they fit, else
    in a workspace that the host allocates around the launch. The number of
    multiprocessors is the module's `redfuse.target`'s.

    A launch with a plan (`redfuse.matrices`, by `redfuse-plan-matrices`) runs on the
    matrix units of the target's chip as that says. By warpgroups: one warp loads tiles by tensor
    maps into a ring in shared memory, warpgroups of 64 rows multiply, and what is
    computed between products stays in registers as fragments. The products of a step of a
    fold run while those of the step before are added to its states. A launch with `redfuse.product_tiles`
    (`redfuse-plan-products`) has its contractions made by matrix instructions, in those
    tiles. One with `redfuse.registers` (`redfuse-plan-registers`) has its tiles in registers,
    in that layout. Other launches have their tiles in shared memory or the workspace, all of them
    where the passes that plan were not run before. Where there is a plan for matrix units, the `gpu.module` gets
    `redfuse.most_opt_level = 1`: `redfuse-attach-nvvm-target` lets LLVM optimise no
    more than that, because global value numbering and unrolling would take from ptxas
    the proof that addresses of tiles are uniform.

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

    becomes (constants are left out, and threads that have nothing to store)

    ```mlir
    func.func @f(%x: memref<64xf32>, %out: memref<64xf32>) {
      gpu.launch_func @redfuse_gpu::@k blocks in (%c4, %c1, %c1)
          threads in (%c32, %c1, %c1) dynamic_shared_memory_size %none
          args(%x : memref<64xf32>, %out : memref<64xf32>)
      // ...
    }
    gpu.module @redfuse_gpu {
      gpu.func @k(%x: memref<64xf32>, %out: memref<64xf32>) kernel
          attributes {known_block_size = array<i32: 32, 1, 1>, redfuse.reuse} {
        // ... %at is 16 times the block's number plus 4 times the thread's
        %a = vector.load %x[%at] {alignment = 16 : i64} : ..., vector<4xf32>
        %e = math.exp %a : vector<4xf32>
        vector.store %e, %out[%at] {alignment = 16 : i64} : ...
        // ...
    }
    ```
  }];
  let options = [Option<"strict", "strict", "bool", /*default=*/"false",
                        "use nothing that only some GPUs have: matrix units add up in an "
                        "order and with roundings of their own">];
  let dependentDialects = ["redfuse::RedfuseDialect", "mlir::arith::ArithDialect",
                           "mlir::func::FuncDialect", "mlir::LLVM::LLVMDialect",
                           "mlir::NVVM::NVVMDialect", "mlir::math::MathDialect",
                           "mlir::gpu::GPUDialect", "mlir::memref::MemRefDialect",
                           "mlir::scf::SCFDialect", "mlir::vector::VectorDialect",
                           "mlir::affine::AffineDialect",
                           "mlir::cf::ControlFlowDialect"];
}

def HostToGPU : Pass<"redfuse-host-to-gpu", "mlir::ModuleOp"> {
  let summary = "Run on the GPU what host functions do to memory";
  let description = [{
    Run before `redfuse-kernel-to-gpu`. On a GPU the buffers of public functions
    are device memory, which the host cannot touch. Loads, stores, copies and
    loops over them that no kernel contains become `gpu.func`s: a parallel loop,
    or the parallel dims of a structured op, have a thread an iteration, anything
    else one thread. A value that is loaded
    from a buffer and decides what the host does is refused. Constant tensors
    (`memref.get_global`) become allocations with the attribute
    `redfuse.constant = @global`: the runtime's copy on the GPU.

    ```mlir
    func.func @f(%v: f32, %y: memref<4xf32>) {
      %c0 = arith.constant 0 : index
      memref.store %v, %y[%c0] : memref<4xf32>
      return
    }
    ```

    becomes

    ```mlir
    module attributes {gpu.container_module} {
      func.func @f(%v: f32, %y: memref<4xf32>) {
        %c1 = arith.constant 1 : index
        %none = arith.constant 0 : i32
        gpu.launch_func @redfuse_gpu::@host_0 blocks in (%c1, %c1, %c1)
            threads in (%c1, %c1, %c1) dynamic_shared_memory_size %none
            args(%v : f32, %y : memref<4xf32>)
        return
      }
      gpu.module @redfuse_gpu {
        gpu.func @host_0(%v: f32, %y: memref<4xf32>) kernel {
          %c0 = arith.constant 0 : index
          memref.store %v, %y[%c0] : memref<4xf32>
          gpu.return
        }
      }
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::gpu::GPUDialect",
                           "mlir::linalg::LinalgDialect", "mlir::memref::MemRefDialect",
                           "mlir::scf::SCFDialect"];
}

def ReuseValues : Pass<"redfuse-reuse-values"> {
  let summary = "Keep in registers what a GPU thread has already";
  let description = [{
    Redundant load elimination and store-to-load forwarding, across barriers. In
    each `gpu.func`, after `canonicalize,cse`: a load of a kernel's input that
    repeats an earlier one is that value (where the function is marked
    `redfuse.reuse`: no two operands share memory); a load of a tile element that
    the same thread stored is the stored value, until the tile is written again;
    tiles that nothing reads are dropped.

    ```mlir
    #shared = #gpu.address_space<workgroup>
    gpu.module @m {
      gpu.func @k(%x: memref<64xf32>, %y: memref<64xf32>) kernel
          attributes {redfuse.reuse} {
        %c0 = arith.constant 0 : index
        %i = gpu.thread_id x
        %bytes = gpu.dynamic_shared_memory : memref<?xi8, #shared>
        %tile = memref.view %bytes[%c0][]
            : memref<?xi8, #shared> to memref<64xf32, #shared>
        %a = memref.load %x[%i] : memref<64xf32>
        memref.store %a, %tile[%i] : memref<64xf32, #shared>
        gpu.barrier
        %b = memref.load %tile[%i] : memref<64xf32, #shared>
        %c = memref.load %x[%i] : memref<64xf32>
        %d = arith.addf %b, %c : f32
        memref.store %d, %y[%i] : memref<64xf32>
        gpu.return
      }
    }
    ```

    becomes

    ```mlir
    gpu.module @m {
      gpu.func @k(%x: memref<64xf32>, %y: memref<64xf32>) kernel
          attributes {redfuse.reuse} {
        %i = gpu.thread_id x
        %a = memref.load %x[%i] : memref<64xf32>
        gpu.barrier
        %d = arith.addf %a, %a : f32
        memref.store %d, %y[%i] : memref<64xf32>
        gpu.return
      }
    }
    ```
  }];
}

def StreamedAccesses : Pass<"redfuse-streamed-accesses", "mlir::gpu::GPUModuleOp"> {
  let summary = "Keep what is moved once out of the first-level cache";
  let description = [{
    For NVIDIA GPUs, on the LLVM dialect: loads and stores of global memory that are
    `nontemporal` and move 4, 8 or 16 bytes, aligned so, become
    `ld.global.L1::no_allocate` and `st.global.L1::no_allocate`, which LLVM has no
    form of. Other accesses stay as they are.

    ```mlir
    gpu.module @m {
      llvm.func @k(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) {
        %v = llvm.load %p {alignment = 4 : i64, nontemporal} : !llvm.ptr<1> -> i32
        llvm.store %v, %q : i32, !llvm.ptr<1>
        llvm.return
      }
    }
    ```

    becomes

    ```mlir
    gpu.module @m {
      llvm.func @k(%p: !llvm.ptr<1>, %q: !llvm.ptr<1>) {
        %v = llvm.inline_asm has_side_effects asm_dialect = att
            "ld.global.L1::no_allocate.b32 $0, [$1];", "=r,l" %p
            : (!llvm.ptr<1>) -> i32
        llvm.store %v, %q : i32, !llvm.ptr<1>
        llvm.return
      }
    }
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def LowWords : Pass<"redfuse-low-words", "mlir::gpu::GPUModuleOp"> {
  let summary = "Take the low words of f64 by moves of their own";
  let description = [{
    For NVIDIA GPUs, on the LLVM dialect: LLVM stores the low 32 bits of an f64's
    register by a `st.b32` of that register, which ptxas (12.8 and 13.0) takes for a
    conversion of the f64 to an integer. A `mov.b64 {low, _}, x` takes them instead.

    ```mlir
    gpu.module @m {
      llvm.func @k(%x: f64, %p: !llvm.ptr) {
        %bits = llvm.bitcast %x : f64 to i64
        %low = llvm.trunc %bits : i64 to i32
        llvm.store %low, %p : i32, !llvm.ptr
        llvm.return
      }
    }
    ```

    becomes

    ```mlir
    gpu.module @m {
      llvm.func @k(%x: f64, %p: !llvm.ptr) {
        %low = llvm.inline_asm asm_dialect = att
            "mov.b64 {$0, _}, $1;", "=r,d" %x : (f64) -> i32
        llvm.store %low, %p : i32, !llvm.ptr
        llvm.return
      }
    }
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def ExternSharedMemory : Pass<"redfuse-extern-shared-memory"> {
  let summary = "Declare dynamic shared memory without a size";
  let description = [{
    convert-gpu-to-nvvm makes dynamic shared memory an internal global array of
    no elements. LLVM then takes any two accesses to it for disjoint, and keeps
    values in registers that have changed. As an external declaration its size is
    unknown.

    ```mlir
    gpu.module @m {
      llvm.mlir.global internal @shared()
          {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
    }
    ```

    becomes

    ```mlir
    gpu.module @m {
      llvm.mlir.global external @shared()
          {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
    }
    ```
  }];
}

#endif // REDFUSE_CODEGEN_PASSES_TD
