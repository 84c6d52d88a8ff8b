// RUN: redfuse-opt %s | redfuse-opt | FileCheck %s

// CHECK-LABEL: func.func @both
// CHECK: redfuse.select ins(%{{.*}} : tensor<64x1000xf32>) values(%{{.*}} : tensor<64x100xf32>) positions(%{{.*}} : tensor<64x100xi64>) {descending} -> tensor<64x100xf32>, tensor<64x100xi64>
func.func @both(%x: tensor<64x1000xf32>, %a: tensor<64x100xf32>, %b: tensor<64x100xi64>)
    -> (tensor<64x100xf32>, tensor<64x100xi64>) {
  %v, %p = redfuse.select ins(%x : tensor<64x1000xf32>)
      values(%a : tensor<64x100xf32>) positions(%b : tensor<64x100xi64>)
      {descending} -> tensor<64x100xf32>, tensor<64x100xi64>
  return %v, %p : tensor<64x100xf32>, tensor<64x100xi64>
}

// CHECK-LABEL: func.func @buffers
// CHECK: redfuse.select ins(%{{.*}} : memref<9xi8>) positions(%{{.*}} : memref<2xindex>) {from = 3 : i64, is_unsigned}
func.func @buffers(%x: memref<9xi8>, %p: memref<2xindex>) {
  redfuse.select ins(%x : memref<9xi8>) positions(%p : memref<2xindex>) {from = 3 : i64, is_unsigned}
  return
}
