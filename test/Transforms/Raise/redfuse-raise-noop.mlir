// RUN: redfuse-opt %s -redfuse-raise | FileCheck %s

// Nothing to raise: scalar code, buffers, a fill that is returned.

// CHECK-LABEL: func.func @scalars
// CHECK-SAME:  (%{{.*}}: f32) -> f32 {
// CHECK-NEXT:  arith.addf
func.func @scalars(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @fill
// CHECK-NOT:   redfuse
// CHECK:       linalg.fill
func.func @fill(%x: f32) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%x : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %f : tensor<4xf32>
}

// CHECK-LABEL: func.func @buffers
// CHECK-SAME:  detail = "the op works on buffers"
// CHECK:       linalg.generic
func.func @buffers(%a: memref<4xf32>, %b: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : memref<4xf32>) outs(%b : memref<4xf32>) {
  ^bb0(%x: f32, %out: f32):
    linalg.yield %x : f32
  }
  return
}
