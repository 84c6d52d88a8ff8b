// RUN: redfuse-opt %s -split-input-file -redfuse-check-source | FileCheck %s
// What nobody calls is not looked at, and bits of TF32 are computed in an f32.

// CHECK-LABEL: func @rounds
// CHECK: arith.truncf
func.func @rounds(%x: f32) -> f32 {
  %a = arith.truncf %x : f32 to tf32
  %r = arith.extf %a : tf32 to f32
  return %r : f32
}

// CHECK: gpu.barrier
func.func private @unused() {
  gpu.barrier
  return
}

// -----

// CHECK-LABEL: func @widths
func.func @widths(%x: tensor<4xi64>, %y: complex<f64>, %z: tensor<2xf8E4M3FN>, %i: i1) -> index {
  %c = arith.constant 0 : index
  return %c : index
}
