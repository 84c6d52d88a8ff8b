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

def ConvertSmallFloats : Pass<"redfuse-convert-small-floats"> {
  let summary = "Convert floats of 8 bits by the GPU's instructions";
  let description = [{
    From compute capability 8.9 on GPUs convert two floats of 8 bits (f8E4M3FN, f8E5M2) by one
    instruction: to f16, which has all of their numbers, and from f32, rounded to nearest
    even. What is too large the instruction makes the largest number, where `arith.truncf` makes it
    NaN, or infinity: 1 is added to its code. Nothing is too large of what the program has
    clamped. Other floats of 8 bits, vectors of several dims, f64 and older GPUs are left to
    `redfuse-expand-small-floats`.

    ```mlir
    module attributes {redfuse.target = #redfuse.target<"cuda", units = 132,
        vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300,
        launch_ns = 3000, chip = "sm_90a">} {
      gpu.module @m {
        gpu.func @k(%x: vector<2xf8E4M3FN>) -> vector<2xf16> {
          %y = arith.extf %x : vector<2xf8E4M3FN> to vector<2xf16>
          gpu.return %y : vector<2xf16>
        }
      }
    }
    ```

    becomes

    ```mlir
        gpu.func @k(%x: vector<2xf8E4M3FN>) -> vector<2xf16> {
          %bytes = arith.bitcast %x : vector<2xf8E4M3FN> to vector<2xi8>
          // ... pairs of bytes
          %y = nvvm.convert.f8x2.to.f16x2 %pair : vector<2xi8> (f8E4M3FN) -> vector<2xf16>
          // ... one vector again
        }
    ```
  }];
  let dependentDialects = ["mlir::NVVM::NVVMDialect", "mlir::arith::ArithDialect",
                           "mlir::math::MathDialect", "mlir::vector::VectorDialect"];
}

#endif // REDFUSE_CONVERSION_GPUTONVVM_PASSES_TD
