//===- Passes.td - to the dialects of LLVM -----------------*- tablegen -*-===//
#ifndef REDFUSE_CONVERSION_PASSES_TD
#define REDFUSE_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandSmallFloats : Pass<"redfuse-expand-small-floats"> {
  let summary = "Convert floats of 8 bits by operations on their bits";
  let description = [{
    No processor is asked to know f8E4M3FN, f8E5M2, f8E4M3FNUZ and f8E5M2FNUZ.
    `arith.extf` and `arith.truncf` of them, of scalars and vectors, become
    operations on integers, and constants become integers. Rounding is to nearest
    even, and once, from f64 too; what is too large becomes infinite, or NaN where
    there is no infinity. Arithmetic in them has to be arithmetic in f32 already
    (`arith-emulate-unsupported-floats`). TF32, to which elements of f32 are rounded
    where matrix units multiply them, is the upper 19 bits of an f32; it is not stored.

    ```mlir
    func.func @f(%x: f8E5M2) -> f32 {
      %y = arith.extf %x : f8E5M2 to f32
      return %y : f32
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: f8E5M2) -> f32 {
      %byte = arith.bitcast %x : f8E5M2 to i8
      %bits = arith.extui %byte : i8 to i32
      %rest = arith.andi %bits, %c127 : i32
      %moved = arith.shli %rest, %c21 : i32
      %normal = arith.addi %moved, %bias : i32
      // ... subnormal numbers, infinity, NaN
      %sign = arith.andi %bits, %c128 : i32
      %high = arith.shli %sign, %c24 : i32
      %all = arith.ori %magnitude, %high : i32
      %y = arith.bitcast %all : i32 to f32
      return %y : f32
    }
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

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

def LowerDeviceLibraries : Pass<"redfuse-lower-device-libraries"> {
  let summary = "Do without ROCm's device libraries";
  let description = [{
    Works on kernels in the ROCDL dialect. The sizes of grid and block, which are
    functions of the device libraries, are read from the words that the runtime puts
    behind a kernel's arguments. The scope of atomics that CUDA calls `device` is
    AMD's `agent`. Mathematical functions that LLVM has no code for without the
    libraries (most of f64) are errors: LLVM would end the process.

    ```mlir
    llvm.func @k(%p: !llvm.ptr) attributes {rocdl.kernel} {
      %n = rocdl.grid.dim.x : i64
      llvm.store %n, %p : i64, !llvm.ptr
      llvm.return
    }
    ```

    becomes

    ```mlir
    llvm.func @k(%p: !llvm.ptr) attributes {rocdl.kernel} {
      %words = llvm.call_intrinsic "llvm.amdgcn.implicitarg.ptr"() : () -> !llvm.ptr<4>
      %at = llvm.getelementptr %words[0] : (!llvm.ptr<4>) -> !llvm.ptr<4>, i8
      %count = llvm.load %at : !llvm.ptr<4> -> i32
      %n = llvm.zext %count : i32 to i64
      llvm.store %n, %p : i64, !llvm.ptr
      llvm.return
    }
    ```
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::ROCDL::ROCDLDialect"];
}

def AttachNVVMTarget : Pass<"redfuse-attach-nvvm-target", "mlir::gpu::GPUModuleOp"> {
  let summary = "Say what PTX is made for";
  let description = [{
    Gives a `gpu.module` the target that `gpu-module-to-binary` makes PTX for: the
    chip of `redfuse.target`, the first PTX version that has it (and products of
    8-bit floats, where any are in the module), and LLVM's level: `opt-level`, or that
    of the module's `redfuse.most_opt_level` (`redfuse-kernel-to-gpu`) where that is
    lower; the attribute is dropped.

    ```mlir
    module attributes {redfuse.target = #redfuse.target<"cuda", units = 108,
        vector_bits = 512, l1 = 65536, l2 = 524288, flops = 19500, bandwidth = 1900,
        launch_ns = 3000, chip = "sm_80">} {
      gpu.module @redfuse_gpu attributes {redfuse.most_opt_level = 1 : i64} {
      }
    }
    ```

    becomes

    ```mlir
      // ...
      gpu.module @redfuse_gpu [#nvvm.target<O = 1, chip = "sm_80", features = "+ptx80">] {
      }
    ```
  }];
  let options = [Option<"level", "opt-level", "unsigned", /*default=*/"3",
                        "LLVM's optimisation level">];
  let dependentDialects = ["mlir::NVVM::NVVMDialect"];
}

def ConvertToROCDL : Pass<"redfuse-convert-to-rocdl", "mlir::gpu::GPUModuleOp"> {
  let summary = "Convert the gpu dialect to ROCDL for the target's chip";
  let description = [{
    Runs upstream's `convert-gpu-to-rocdl`, which takes the chip as an option, for
    that of `redfuse.target`, with HIP as the runtime.

    ```mlir
    module attributes {redfuse.target = #redfuse.target<"rocm", units = 304,
        vector_bits = 512, l1 = 65536, l2 = 524288, flops = 81700, bandwidth = 5300,
        launch_ns = 5000, chip = "gfx942">} {
      gpu.module @redfuse_gpu {
        gpu.func @k() kernel { gpu.return }
      }
    }
    ```

    becomes

    ```mlir
      // ...
      gpu.module @redfuse_gpu {
        llvm.func @k() attributes {gpu.kernel, rocdl.kernel} { llvm.return }
      }
    ```
  }];
}

def RocdlToBinary : Pass<"redfuse-rocdl-to-binary", "mlir::ModuleOp"> {
  let summary = "Make machine code for AMD GPUs of kernels in the ROCDL dialect";
  let description = [{
    What `gpu-module-to-binary` is for PTX: a `gpu.module` becomes a `gpu.binary` with the
    assembly of its kernels (`format=isa`) or a code object (`bin`). The LLVM of MLIR's
    wheels has no code generator for AMD GPUs, so that kernels leave as LLVM IR for
    `python3 -m redfuse.targets.rocm_code`, which has one by the extra `rocm` of the
    package (llvmlite, and an LLD).

    ```mlir
    module attributes {redfuse.target = #redfuse.target<"rocm", units = 304,
        vector_bits = 512, l1 = 65536, l2 = 524288, flops = 81700, bandwidth = 5300,
        launch_ns = 5000, chip = "gfx942">} {
      gpu.module @redfuse_gpu {
        llvm.func @k() attributes {gpu.kernel, rocdl.kernel} { llvm.return }
      }
    }
    ```

    becomes

    ```mlir
      // ...
      gpu.binary @redfuse_gpu [#gpu.object<#rocdl.target<O = 3, chip = "gfx942">,
          assembly = "...">]
    ```
  }];
  let options = [Option<"format", "format", "std::string", /*default=*/"\"isa\"",
                        "isa (assembly) or bin (a code object)">,
                 Option<"optLevel", "opt-level", "unsigned", /*default=*/"3",
                        "LLVM's optimisation level">,
                 Option<"python", "python", "std::string", /*default=*/"\"\"",
                        "the Python that has redfuse[rocm]; empty: python3 of the PATH">];
  let dependentDialects = ["mlir::gpu::GPUDialect", "mlir::ROCDL::ROCDLDialect",
                           "mlir::LLVM::LLVMDialect"];
}

def LowerDeviceLaunches : Pass<"redfuse-lower-device-launches", "mlir::ModuleOp"> {
  let summary = "Lower gpu.launch_func to calls that the runtime executes";
  let description = [{
    `gpu.launch_func @m::@k blocks in (%n, 1, 1) threads in (256, 1, 1)
    dynamic_shared_memory_size %s args(...)` becomes `call @k__launch(%n, %threads,
    %s, ...) {redfuse.device = "k"}`, which `redfuse-lower-launches` turns into a
    call of `redfuse_rt_device_launch`. Modules of device code are erased: what
    they became is in a `gpu.binary`, or the caller has taken it.

    ```mlir
    module attributes {gpu.container_module} {
      func.func @f(%n: index, %threads: index, %shared: i32, %x: memref<8xf32>) {
        %c1 = arith.constant 1 : index
        gpu.launch_func @m::@k blocks in (%n, %c1, %c1)
            threads in (%threads, %c1, %c1)
            dynamic_shared_memory_size %shared args(%x : memref<8xf32>)
        return
      }
      gpu.module @m {
        gpu.func @k(%x: memref<8xf32>) kernel { gpu.return }
      }
    }
    ```

    becomes

    ```mlir
    func.func @f(%n: index, %threads: index, %shared: i32, %x: memref<8xf32>) {
      %bytes = arith.index_castui %shared : i32 to index
      call @k__launch(%n, %threads, %bytes, %x) {redfuse.device = "k"}
          : (index, index, index, memref<8xf32>) -> ()
      return
    }
    func.func private @k__launch(index, index, index, memref<8xf32>)
        attributes {redfuse.device = "k"}
    ```
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::func::FuncDialect"];
}

def ExpandMath : Pass<"redfuse-expand-math"> {
  let summary = "Expand math functions into vectorisable arithmetic";
  let description = [{
    Replaces the math functions that kernels live on (`math.exp`, `exp2`,
    `expm1`, `log`, `log2`, `log10`, `log1p`, `tanh` and `erf` on f32 scalars
    and vectors) by range reduction and polynomials of fused multiply-adds,
    accurate to two or three units in the last place and right for infinities,
    NaN, overflow and underflow. Powers with a small constant exponent become
    products, those with 0.5 or -0.5 square roots. What has no expansion (f64, rarer functions) stays, for libm.

    ```mlir
    func.func @f(%x: f32) -> f32 {
      %y = math.exp2 %x : f32
      return %y : f32
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: f32) -> f32 {
      // ... %in is %x in [-160, 130]: beyond, 2^x is 0 or infinite in f32
      %shifted = arith.addf %in, %magic : f32  // rounds to a whole number
      %whole = arith.subf %shifted, %magic : f32
      %part = arith.subf %in, %whole : f32
      %p0 = math.fma %c5, %part, %c4 : f32
      // ... three more
      %p = math.fma %p3, %part, %one : f32
      // ... %a * %b is 2^whole, each made of the bits of its exponent
      %q = arith.mulf %p, %a : f32
      %y = arith.mulf %q, %b : f32
      return %y : f32
    }
    ```
  }];
  let options = [
    Option<"scalef", "scalef", "bool", "false",
           "scale by AVX-512's vscalefps (the target has it)">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

def LowerVectors : Pass<"redfuse-lower-vectors"> {
  let summary = "Lower vector ops of rank two and more to one-dimensional ones";
  let description = [{
    LLVM's vectors have one dim. Transposes become shuffles, multi-reductions,
    contractions and outer products become fused multiply-adds, masks become
    masked ops; loads and stores of i1 vectors go through bytes, because an i1
    takes a byte in a memref and a bit in an LLVM vector.

    ```mlir
    func.func @f(%x: vector<2x16xf32>, %a: vector<16xf32>) -> vector<16xf32> {
      %r = vector.multi_reduction <add>, %x, %a [0]
           : vector<2x16xf32> to vector<16xf32>
      return %r : vector<16xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: vector<2x16xf32>, %a: vector<16xf32>) -> vector<16xf32> {
      %x0 = vector.extract %x[0] : vector<16xf32> from vector<2x16xf32>
      %s = arith.addf %x0, %a : vector<16xf32>
      %x1 = vector.extract %x[1] : vector<16xf32> from vector<2x16xf32>
      %r = arith.addf %x1, %s : vector<16xf32>
      return %r : vector<16xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerExpandShapes : Pass<"redfuse-lower-expand-shapes"> {
  let summary = "Lower memref.expand_shape with several dynamic extents a group";
  let description = [{
    Upstream's lowering of `memref.expand_shape` takes one extent a group that
    is not known. Those with more become a `memref.reinterpret_cast` of the
    same memory, with strides from the extents; the innermost dim of a group
    has the stride of the dim that it is a part of. The others stay.

    ```mlir
    func.func @f(%x: memref<?xf32>, %n: index, %m: index) -> memref<?x?x4xf32> {
      %y = memref.expand_shape %x [[0, 1, 2]] output_shape [%n, %m, 4]
           : memref<?xf32> into memref<?x?x4xf32>
      return %y : memref<?x?x4xf32>
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: memref<?xf32>, %n: index, %m: index) -> memref<?x?x4xf32> {
      %s = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%m]
      %y = memref.reinterpret_cast %x to offset: [0], sizes: [%n, %m, 4],
             strides: [%s, 4, 1] : memref<?xf32> to memref<?x?x4xf32>
      return %y : memref<?x?x4xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::memref::MemRefDialect"];
}

def LowerRuntime : Pass<"redfuse-lower-runtime", "::mlir::ModuleOp"> {
  let summary = "Lower assertions, allocations and scratch to runtime calls";
  let description = [{
    Works on functions of basic blocks (after convert-scf-to-cf).

    - `cf.assert` becomes: if the condition is false, `redfuse_rt_fail(message)`
      and return.
    - `memref.alloc`, `memref.dealloc` and a call of
      `@redfuse_rt_scratch_view(index) -> memref<?xi8>` become calls of
      `redfuse_rt_alloc`, `redfuse_rt_free` and `redfuse_rt_scratch`; no memory
      is a failure like any other.
    - After a call of a function that may fail, the caller returns as well if
      it has failed.
    - `memref.alloca` of static size moves to the entry block, out of loops.

    ```mlir
    func.func @f(%ok: i1) {
      cf.assert %ok, "sizes differ"
      return
    }
    ```

    becomes

    ```mlir
    func.func private @redfuse_rt_fail(!llvm.ptr)
    llvm.mlir.global internal constant @redfuse_message_0("sizes differ\00")
        {addr_space = 0 : i32}
    func.func @f(%ok: i1) {
      cf.cond_br %ok, ^rest, ^leave
    ^rest:
      return
    ^leave:
      %message = llvm.mlir.addressof @redfuse_message_0 : !llvm.ptr
      call @redfuse_rt_fail(%message) : (!llvm.ptr) -> ()
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::ub::UBDialect"];
}

def LowerLaunches : Pass<"redfuse-lower-launches", "::mlir::ModuleOp"> {
  let summary = "Lower parallel calls to the thread pool";
  let description = [{
    A call `call @k(%begin, %end, args...) {redfuse.parallel}` of a function
    `@k(index, index, args...)` (by now in the LLVM dialect) runs the blocks
    from `%begin` to `%end` on the thread pool: the arguments are packed into a
    structure on the stack, and `redfuse_rt_parallel_for` calls a body that
    unpacks them and calls `@k` with a range of blocks.

    ```mlir
    llvm.func internal @k(%begin: i64, %end: i64, %x: !llvm.ptr) {
      llvm.return
    }
    llvm.func @f(%begin: i64, %end: i64, %x: !llvm.ptr) {
      llvm.call @k(%begin, %end, %x) {redfuse.parallel}
          : (i64, i64, !llvm.ptr) -> ()
      llvm.return
    }
    ```

    becomes

    ```mlir
    llvm.func @f(%begin: i64, %end: i64, %x: !llvm.ptr) {
      // ... %begin and %x are stored in %context
      %blocks = llvm.sub %end, %begin : i64
      %body = llvm.mlir.addressof @k__body : !llvm.ptr
      llvm.call @redfuse_rt_parallel_for(%body, %context, %blocks)
          : (!llvm.ptr, !llvm.ptr, i64) -> ()
      llvm.return
    }
    llvm.func internal @k__body(%context: !llvm.ptr {llvm.noalias, llvm.readonly},
                                %first: i64, %last: i64) {
      // ... %x is loaded from %context, %from and %to count from %begin
      llvm.call @k(%from, %to, %x) : (i64, i64, !llvm.ptr) -> ()
      llvm.return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def Interfaces : Pass<"redfuse-interfaces", "::mlir::ModuleOp"> {
  let summary = "Ask for the C interface of every public function";
  let description = [{
    Marks public functions with `llvm.emit_c_interface`: their memrefs are then
    passed as pointers to descriptors, which `redfuse-packed-entries` builds
    upon. Run before the conversion of functions.

    ```mlir
    func.func @f(%x: memref<4xf32>) {
      return
    }
    ```

    becomes

    ```mlir
    func.func @f(%x: memref<4xf32>) attributes {llvm.emit_c_interface} {
      return
    }
    ```
  }];
}

def PackedEntries : Pass<"redfuse-packed-entries", "::mlir::ModuleOp"> {
  let summary = "Give every public function a packed C entry";
  let description = [{
    Functions of all signatures can then be called in one way. For every public
    `@f` (in the LLVM dialect, with its C interface) adds
    `void f__packed(void **args)`, where `args[i]` points to the descriptor of
    a memref argument or to the scalar itself. All other functions become
    internal.

    ```mlir
    llvm.func @f(%n: i64) {
      llvm.return
    }
    llvm.func @_mlir_ciface_f(%n: i64) attributes {llvm.emit_c_interface} {
      llvm.call @f(%n) : (i64) -> ()
      llvm.return
    }
    ```

    becomes

    ```mlir
    // ... @f and @_mlir_ciface_f are internal
    llvm.func @f__packed(%args: !llvm.ptr) {
      %first = llvm.getelementptr %args[0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
      %p = llvm.load %first : !llvm.ptr -> !llvm.ptr
      %n = llvm.load %p : !llvm.ptr -> i64
      llvm.call @_mlir_ciface_f(%n) : (i64) -> ()
      llvm.return
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // REDFUSE_CONVERSION_PASSES_TD
