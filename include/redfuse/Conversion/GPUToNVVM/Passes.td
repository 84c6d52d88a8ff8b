//===- Passes.td - GPU modules for NVIDIA ------------------*- tablegen -*-===//
#ifndef REDFUSE_CONVERSION_GPUTONVVM_PASSES_TD
#define REDFUSE_CONVERSION_GPUTONVVM_PASSES_TD

include "mlir/Pass/PassBase.td"

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

#endif // REDFUSE_CONVERSION_GPUTONVVM_PASSES_TD
