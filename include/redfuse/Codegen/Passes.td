//===- Passes.td - from kernels to code of a processor -------*- tablegen -*-===//
#ifndef REDFUSE_CODEGEN_PASSES_TD
#define REDFUSE_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def KernelToCPU : Pass<"redfuse-kernel-to-cpu", "mlir::ModuleOp"> {
  let summary = "Generate a function over blocks for every kernel";
  let description = [{
    Every `redfuse.launch` on buffers becomes a call, marked `redfuse.parallel`,
    of a function that runs a range of the kernel's blocks: a loop over the grid,
    in it the tile program of each op of the kernel as loops of vector code, with
    every intermediate in tiles of the thread's scratch memory. A fold becomes a
    loop over the tiles of its streamed dims that carries the state; contractions
    become register tiles; ragged ends are masked.
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
    units of `chip`: the `redfuse.launch` gets a `#redfuse.matrix_plan` that says
    all that is chosen, by the cost model or as hints of the schedule ask for it:
    tiles, where operands are, who loads and who multiplies, the ring, blocks that
    share sums or folds, the order of tiles, how results leave, how far pivots lag.
    A launch whose kernel does not fit gets the reason instead, and a remark. What
    has a plan keeps it.

    Before:

    ```mlir
    redfuse.launch @k ins(%q, %k, %v : ...) outs(%o : memref<2x1024x128xbf16>)
    ```

    After `-redfuse-plan-matrices=chip=sm_90a`:

    ```mlir
    redfuse.launch @k ins(%q, %k, %v : ...) outs(%o : memref<2x1024x128xbf16>)
        {redfuse.matrices = #redfuse.matrix_plan<warpgroups, row_dim = 1, ...>}
    ```
  }];
  let options = [Option<"chip", "chip", "std::string", /*default=*/"\"\"",
                        "the architecture, as sm_90a: whose matrix units may be used">];
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
    that few steps take.

    Before:

    ```mlir
    %score = arith.mulf %product, %scale : f32
    %top = redfuse.reduce maximumf over [3] into [1] (%score) : (f32) -> f32
    %max = arith.maximumf %top, %state : f32
    %power = math.exp %distance : f32
    ```

    After:

    ```mlir
    %top = redfuse.reduce maximumf over [3] into [1] (%product) : (f32) -> f32
    %max = arith.maximumf %top, %state {redfuse.lazy = ...} : f32
    %power = math.exp %distance {redfuse.pivot} : f32
    ```
  }];
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

    A launch with a `#redfuse.matrix_plan` (`redfuse-plan-matrices`) runs on the
    matrix units of `chip` as that says. By warpgroups: one warp loads tiles by tensor
    maps into a ring in shared memory, warpgroups of 64 rows multiply, and what is
    computed between products stays in registers as fragments. The products of a step of a
    fold run while those of the step before are added to its states. Launches that
    were not looked at are planned first, and their pivots made lazy
    (`redfuse-lazy-pivots`); those without a plan are generated as above.
  }];
  let options = [Option<"chip", "chip", "std::string", /*default=*/"\"\"",
                        "the architecture, as sm_90a: whose matrix units may be used">];
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
    loops over them that no kernel contains become `gpu.func`s: a parallel loop
    has a thread an iteration, anything else one thread. A value that is loaded
    from a buffer and decides what the host does is refused. Constant tensors
    (`memref.get_global`) become allocations with the attribute
    `redfuse.constant = @global`: the runtime's copy on the GPU.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::gpu::GPUDialect",
                           "mlir::linalg::LinalgDialect", "mlir::memref::MemRefDialect",
                           "mlir::scf::SCFDialect"];
}

def ReuseValues : Pass<"redfuse-reuse-values"> {
  let summary = "Keep in registers what a GPU thread has already";
  let description = [{
    In each `gpu.func`, after `canonicalize,cse`: a load of a kernel's input that
    repeats an earlier one is that value (where the function is marked
    `redfuse.reuse`: no two operands share memory); a load of a tile element that
    the same thread stored is the stored value, until the tile is written again;
    tiles that nothing reads are dropped.
  }];
}

def StreamedAccesses : Pass<"redfuse-streamed-accesses", "mlir::gpu::GPUModuleOp"> {
  let summary = "Keep what is moved once out of the first-level cache";
  let description = [{
    For NVIDIA GPUs, on the LLVM dialect: loads and stores of global memory that are
    `nontemporal` and move 4, 8 or 16 bytes, aligned so, become
    `ld.global.L1::no_allocate` and `st.global.L1::no_allocate`, which LLVM has no
    form of. Other accesses stay as they are.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def LowWords : Pass<"redfuse-low-words", "mlir::gpu::GPUModuleOp"> {
  let summary = "Take the low words of f64 by moves of their own";
  let description = [{
    For NVIDIA GPUs, on the LLVM dialect: LLVM stores the low 32 bits of an f64's
    register by a `st.b32` of that register, which ptxas (12.8 and 13.0) takes for a
    conversion of the f64 to an integer. A `mov.b64 {low, _}, x` takes them instead.
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
  }];
}

#endif // REDFUSE_CODEGEN_PASSES_TD
