//===- Passes.td - from kernels to code of a GPU -----------*- tablegen -*-===//
#ifndef REDFUSE_CODEGEN_GPU_PASSES_TD
#define REDFUSE_CODEGEN_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

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
    memory keeps, what is loaded when. What stays without any plan gets the reason
    (`redfuse.no_registers`), and has its tiles in memory. What has a layout or a reason
    keeps it.

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

def SelectionsToGPU : Pass<"redfuse-selections-to-gpu", "mlir::ModuleOp"> {
  let summary = "Generate kernels that select elements of rows";
  let description = [{
    Every `redfuse.select` on buffers becomes launches of kernels of the module's
    `gpu.module`, in the way that takes the least for its rows and ranks: teams of
    threads sort whole rows in registers; a block finds a threshold in its row, and
    sorts what that lets through; or blocks sort runs, which further launches merge.
    All give the same, to the bit: docs/design/gpu-selection.md.

    ```mlir
    func.func @f(%x: memref<8x512xf32>, %v: memref<8x512xf32>) {
      redfuse.select ins(%x : memref<8x512xf32>) values(%v : memref<8x512xf32>)
      return
    }
    ```

    becomes, by teams of 32 threads, each of which has 16 elements of a row,

    ```mlir
    func.func @f(%x: memref<8x512xf32>, %v: memref<8x512xf32>) {
      gpu.launch_func @redfuse_gpu::@select_0 blocks in (%c2, %c1, %c1)
          threads in (%c128, %c1, %c1) dynamic_shared_memory_size %bytes
          args(%x : memref<8x512xf32>, %v : memref<8x512xf32>) {redfuse.selection = {number = 0 : i64, way = "sort_rows"}}
      // ...
    }
    gpu.module @redfuse_gpu {
      gpu.func @select_0(%x: memref<8x512xf32>, %v: memref<8x512xf32>) kernel
          attributes {known_block_size = array<i32: 128, 1, 1>} {
        // ... words are compared with those of the thread beside
        %other = gpu.shuffle xor %word, %mask, %c32 : i32
        // ... through shared memory neighbouring threads get neighbours
        gpu.barrier
        memref.store %element, %v[%row, %rank] : memref<8x512xf32>
        // ...
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::gpu::GPUDialect",
    "mlir::LLVM::LLVMDialect", "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect"];
}

def PlanRounds : Pass<"redfuse-plan-rounds", "mlir::ModuleOp"> {
  let summary = "Choose loops of the host that one kernel makes";
  let description = [{
    A loop that launches one kernel in each round, as a recurrent layer does, takes as long as its
    launches. Where the kernel holds its tiles in registers, its warps share nothing, and the GPU of
    the module's `redfuse.target` has clusters, a cluster of blocks can make all rounds, with
    a barrier after each. What never meets (rows of a batch), as the maps of the kernel say, has
    clusters of its own. The loop gets that plan if clusters have room for it; rounds must be four
    at least, and their number known.

    ```mlir
    scf.for %t = %c0 to %c529 step %c1 {
      %before = memref.subview %h[%t, 0, 0] [1, 8, 128] [1, 1, 1] : ...
      %after = memref.subview %h[%next, 0, 0] [1, 8, 128] [1, 1, 1] : ...
      redfuse.launch @cell ins(%before, %w : ...) outs(%after : ...)
          {redfuse.registers = #redfuse.register_layout<threads = 128, ...>}
    }
    ```

    becomes

    ```mlir
    scf.for %t = %c0 to %c529 step %c1 {
      ...
    } {redfuse.persistent = #redfuse.rounds_plan<cluster = 16, warps = 8, grid_parts = 1, warp_parts = 4>}
    ```
  }];
  let dependentDialects = ["redfuse::RedfuseDialect"];
}

def PersistRounds : Pass<"redfuse-persist-rounds", "mlir::ModuleOp"> {
  let summary = "Move loops of the host into the kernel that they launch";
  let description = [{
    A loop with a plan (`redfuse-plan-rounds`) becomes one launch of a kernel with that loop: in
    each round what the host computed (views, positions), the launched kernel's body as one of its
    warps, and a barrier of the cluster. What no round writes and none moves is loaded before the
    first round. A loop whose kernel has barriers or shared memory stays as it is.

    ```mlir
    scf.for %t = %c0 to %c529 step %c1 {
      %x = memref.subview %h[%t, 0] [1, 1024] [1, 1] : ...
      gpu.launch_func @redfuse_gpu::@cell blocks in (...) threads in (...) args(%x, ...)
    } {redfuse.persistent = #redfuse.rounds_plan<...>}
    ```

    becomes

    ```mlir
    gpu.launch_func @redfuse_gpu::@cell_rounds blocks in (...) threads in (...) args(%h, ...)
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::gpu::GPUDialect",
                           "mlir::LLVM::LLVMDialect", "mlir::scf::SCFDialect"];
}

def PredictTimes : Pass<"redfuse-predict-times", "mlir::ModuleOp"> {
  let summary = "Say how long each planned kernel is predicted to take";
  let description = [{
    Behind all plans: each launch gets `redfuse.predicted`, the nanoseconds that it is predicted to
    take on the GPU of the module's `redfuse.target`, from its plan, the extents of its kernel and the
    rates that kernels were measured to reach (`KernelTime.cpp`). Of groups whose
    matrices threads would multiply fusion asks whether they are short. An
    extent that is not known counts as 1024.

    ```mlir
    redfuse.launch @k ins(%x : memref<4096x4096xbf16>) outs(%y : memref<4096x4096xbf16>)
        {redfuse.registers = #redfuse.register_layout<...>}
    ```

    becomes

    ```mlir
    redfuse.launch @k ins(%x : memref<4096x4096xbf16>) outs(%y : memref<4096x4096xbf16>)
        {redfuse.predicted = #redfuse.predicted_time<total = ..., launch = ..., memory = ..., matrix = 0,
                                                     vector = ..., blocks = 4096>,
         redfuse.registers = #redfuse.register_layout<...>}
    ```
  }];
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
    else one thread. Copies of rows of a KiB and more share kernels that get their
    number, length and pitches as arguments. A value that is loaded
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
                           "mlir::scf::SCFDialect",
                           "mlir::vector::VectorDialect"];
}

#endif // REDFUSE_CODEGEN_GPU_PASSES_TD
