//===- Passes.td - GPU modules for AMD ---------------------*- tablegen -*-===//
#ifndef REDFUSE_CONVERSION_GPUTOROCDL_PASSES_TD
#define REDFUSE_CONVERSION_GPUTOROCDL_PASSES_TD

include "mlir/Pass/PassBase.td"

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
    package (llvmlite, and an LLD). With `format=llvm` that IR is the result.

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
                        "isa (assembly), bin (a code object) or llvm (LLVM IR)">,
                 Option<"optLevel", "opt-level", "unsigned", /*default=*/"3",
                        "LLVM's optimisation level">,
                 Option<"python", "python", "std::string", /*default=*/"\"\"",
                        "the Python that has redfuse[rocm]; empty: python3 of the PATH">];
  let dependentDialects = ["mlir::gpu::GPUDialect", "mlir::ROCDL::ROCDLDialect",
                           "mlir::LLVM::LLVMDialect"];
}

#endif // REDFUSE_CONVERSION_GPUTOROCDL_PASSES_TD
