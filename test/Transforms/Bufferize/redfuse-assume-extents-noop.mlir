// RUN: redfuse-opt %s -redfuse-assume-extents | FileCheck %s

// Casts that forget extents, or know other strides, stay.

// CHECK-LABEL: func.func @stays
// CHECK-COUNT-2: memref.cast
// CHECK-NOT:     reinterpret_cast
func.func @stays(%x: memref<4xf32>, %y: memref<4xf32, strided<[?]>>) -> (memref<?xf32>, memref<4xf32>) {
  %0 = memref.cast %x : memref<4xf32> to memref<?xf32>
  %1 = memref.cast %y : memref<4xf32, strided<[?]>> to memref<4xf32>
  return %0, %1 : memref<?xf32>, memref<4xf32>
}
