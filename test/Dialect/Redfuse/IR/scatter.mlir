// RUN: redfuse-opt %s | redfuse-opt | FileCheck %s

// CHECK-LABEL: func.func @replaced
// CHECK: redfuse.scatter ins(%{{.*}}, %{{.*}} : tensor<9x4xf32>, tensor<9xi64>) outs(%{{.*}} : tensor<?x4xf32>) -> tensor<?x4xf32>
func.func @replaced(%u: tensor<9x4xf32>, %p: tensor<9xi64>, %d: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %r = redfuse.scatter ins(%u, %p : tensor<9x4xf32>, tensor<9xi64>)
      outs(%d : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @buffers
// CHECK: redfuse.scatter maxsi ins(%{{.*}}, %{{.*}} : memref<9x1xi32>, memref<9xindex>) outs(%{{.*}} : memref<64x1xi32>)
func.func @buffers(%u: memref<9x1xi32>, %p: memref<9xindex>, %d: memref<64x1xi32>) {
  redfuse.scatter maxsi ins(%u, %p : memref<9x1xi32>, memref<9xindex>)
      outs(%d : memref<64x1xi32>)
  return
}
