// RUN: redfuse-opt %s -redfuse-normalize-generalize | FileCheck %s

// A fill of a scalar keeps its name, and buffers are left alone.
// CHECK-LABEL: func.func @noop
// CHECK: linalg.fill
// CHECK: linalg.matmul
func.func @noop(%a: memref<4x4xf32>, %e: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  linalg.matmul ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  return %f : tensor<4xf32>
}
