// RUN: redfuse-opt %s -redfuse-full-rank-slices | FileCheck %s

// Without steps the strides say which dims are gone; with all dims nobody asks.

// CHECK-LABEL: func.func @stays
// CHECK:         tensor.extract_slice {{.*}} : tensor<5x1x4xf32> to tensor<?x1xf32>
// CHECK:         tensor.extract_slice {{.*}} : tensor<5x1x4xf32> to tensor<2x1x4xf32>
// CHECK:         tensor.insert_slice {{.*}} : tensor<4xf32> into tensor<5x1x4xf32>
// CHECK-NOT:     _shape
func.func @stays(%x: tensor<5x1x4xf32>, %r: tensor<4xf32>, %n: index) -> (tensor<?x1xf32>, tensor<2x1x4xf32>, tensor<5x1x4xf32>) {
  %0 = tensor.extract_slice %x[1, 0, 3] [%n, 1, 1] [1, 1, 1] : tensor<5x1x4xf32> to tensor<?x1xf32>
  %1 = tensor.extract_slice %x[1, 0, 0] [2, 1, 4] [2, 1, 1] : tensor<5x1x4xf32> to tensor<2x1x4xf32>
  %2 = tensor.insert_slice %r into %x[1, 0, 0] [1, 1, 4] [1, 1, 1] : tensor<4xf32> into tensor<5x1x4xf32>
  return %0, %1, %2 : tensor<?x1xf32>, tensor<2x1x4xf32>, tensor<5x1x4xf32>
}
