//===- Passes.td - functions and types that no target has --*- tablegen -*-===//
#ifndef REDFUSE_CONVERSION_MATHEXPANSION_PASSES_TD
#define REDFUSE_CONVERSION_MATHEXPANSION_PASSES_TD

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

#endif // REDFUSE_CONVERSION_MATHEXPANSION_PASSES_TD
