// RUN: redfuse-opt %s -redfuse-cut-carried=limit=8 | FileCheck %s

// What writes all of a new tensor begins a chain, and numbers have no buffer.

// CHECK-LABEL: func.func @begins
// CHECK-NOT:   alloc_tensor
func.func @begins(%x: tensor<4xf32>, %n: index, %v: f32) -> (tensor<4xf32>, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a, %p = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x, %u = %v) -> (tensor<4xf32>, f32) {
    %w = tensor.insert %u into %t[%i] : tensor<4xf32>
    %s = arith.addf %u, %v : f32
    scf.yield %w, %s : tensor<4xf32>, f32
  }
  %e = tensor.empty() : tensor<4xf32>
  %m = linalg.add ins(%a, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %b, %q = scf.for %i = %c0 to %n step %c1 iter_args(%t = %m, %u = %p) -> (tensor<4xf32>, f32) {
    %w = tensor.insert %u into %t[%i] : tensor<4xf32>
    %s = arith.addf %u, %v : f32
    scf.yield %w, %s : tensor<4xf32>, f32
  }
  return %b, %q : tensor<4xf32>, f32
}
