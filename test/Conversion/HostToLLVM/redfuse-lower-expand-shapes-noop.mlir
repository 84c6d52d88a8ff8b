// RUN: redfuse-opt %s -redfuse-lower-expand-shapes | FileCheck %s

// One extent a group that is not known is upstream's.
// CHECK-LABEL: func.func @one_dynamic
// CHECK: memref.expand_shape
// CHECK-NOT: memref.reinterpret_cast
func.func @one_dynamic(%x: memref<?xf32>, %n: index) -> memref<?x4xf32> {
  %y = memref.expand_shape %x [[0, 1]] output_shape [%n, 4] : memref<?xf32> into memref<?x4xf32>
  return %y : memref<?x4xf32>
}
