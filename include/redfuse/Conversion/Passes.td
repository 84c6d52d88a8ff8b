//===- Passes.td - to the dialects of LLVM -------------------*- tablegen -*-===//
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
    (`arith-emulate-unsupported-floats`).
  }];
  let dependentDialects = ["mlir::arith::ArithDialect"];
}

def LowerTiles : Pass<"redfuse-lower-tiles"> {
  let summary = "Lower the tile dialect to instructions";
  let description = [{
    Every op of the [tile dialect](tile.md) becomes the instructions of the target
    `chip`: an op of the NVVM dialect where that says all, else inline PTX. Values
    of its types become registers: addresses of shared memory, and one value for
    each register of accumulators and operands, which loops and conditions carry.
    Instructions appear in the order of the ops. An op that `chip` does not have is
    an error. So is one that breaks a rule that can be seen: a wait that gives elements of
    a product which may still run, or a slot given back while a product, or the warp
    itself, may still read it.
  }];
  let options = [Option<"chip", "chip", "std::string", /*default=*/"\"sm_90a\"",
                        "the architecture, as sm_90a">];
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
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::NVVM::NVVMDialect"];
}

def LowerDeviceLaunches : Pass<"redfuse-lower-device-launches", "mlir::ModuleOp"> {
  let summary = "Lower gpu.launch_func to calls that the runtime executes";
  let description = [{
    `gpu.launch_func @m::@k blocks in (%n, 1, 1) threads in (256, 1, 1)
    dynamic_shared_memory_size %s args(...)` becomes `call @k__launch(%n, %threads,
    %s, ...) {redfuse.device = "k"}`, which `redfuse-lower-launches` turns into a
    call of `redfuse_rt_device_launch`. Binaries and modules of device code are
    erased: the caller has taken them.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::func::FuncDialect"];
}

def ExpandMath : Pass<"redfuse-expand-math"> {
  let summary = "expand math functions into vectorisable arithmetic";
  let description = [{
    Replaces the math functions that kernels live on (`math.exp`, `exp2`,
    `expm1`, `log`, `log2`, `log10`, `log1p`, `tanh` and `erf` on f32 scalars
    and vectors) by range reduction and polynomials of fused multiply-adds,
    accurate to two or three units in the last place and right for infinities,
    NaN, overflow and underflow. Powers with a small constant exponent become
    products. What has no expansion (f64, rarer functions) stays, for libm.
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
  let summary = "lower vector ops of rank two and more to one-dimensional ones";
  let description = [{
    Transposes become shuffles, multi-reductions, contractions and outer
    products become fused multiply-adds, masks become masked ops; loads and
    stores of i1 vectors go through bytes, because an i1 takes a byte in a
    memref and a bit in an LLVM vector.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerExpandShapes : Pass<"redfuse-lower-expand-shapes"> {
  let summary = "lower memref.expand_shape with several dynamic extents a group";
  let description = [{
    Upstream's lowering of `memref.expand_shape` takes one extent a group that
    is not known. Those with more become a `memref.reinterpret_cast` of the
    same memory, with strides from the extents; the innermost dim of a group
    has the stride of the dim that it is a part of. The others stay.
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect",
                           "::mlir::memref::MemRefDialect"];
}

def LowerRuntime : Pass<"redfuse-lower-runtime", "::mlir::ModuleOp"> {
  let summary = "lower assertions, allocations and scratch to runtime calls";
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
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect",
                           "::mlir::ub::UBDialect"];
}

def LowerLaunches : Pass<"redfuse-lower-launches", "::mlir::ModuleOp"> {
  let summary = "lower parallel calls to the thread pool";
  let description = [{
    A call `call @k(%begin, %end, args...) {redfuse.parallel}` of a function
    `@k(index, index, args...)` (by now in the LLVM dialect) runs the blocks
    from `%begin` to `%end` on the thread pool: the arguments are packed into a
    structure on the stack, and `redfuse_rt_parallel_for` calls a body that
    unpacks them and calls `@k` with a range of blocks.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def Interfaces : Pass<"redfuse-interfaces", "::mlir::ModuleOp"> {
  let summary = "ask for the C interface of every public function";
  let description = [{
    Marks public functions with `llvm.emit_c_interface`, which
    `redfuse-packed-entries` builds upon. Run before the conversion of
    functions.
  }];
}

def PackedEntries : Pass<"redfuse-packed-entries", "::mlir::ModuleOp"> {
  let summary = "give every public function a packed C entry";
  let description = [{
    For every public `@f` (in the LLVM dialect, with its C interface) adds
    `void f__packed(void **args)`, where `args[i]` points to the descriptor of
    a memref argument or to the scalar itself. All other functions become
    internal.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // REDFUSE_CONVERSION_PASSES_TD
