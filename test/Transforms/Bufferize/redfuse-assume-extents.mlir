// RUN: redfuse-opt %s -redfuse-assume-extents -canonicalize | FileCheck %s

// The assertion always fails, and the cast behind it is one to other extents.
// CHECK-LABEL: func.func @never
// CHECK:         %[[A:.*]] = memref.alloc() : memref<4xf32>
// CHECK:         memref.reinterpret_cast %[[A]] to offset: [0], sizes: [3], strides: [1] : memref<4xf32> to memref<3xf32>
func.func @never() -> memref<3xf32> {
  %c4 = arith.constant 4 : index
  %false = arith.constant false
  %a = memref.alloc(%c4) : memref<?xf32>
  cf.assert %false, "extents differ"
  %b = memref.cast %a : memref<?xf32> to memref<3xf32>
  return %b : memref<3xf32>
}

// What is not known stays what it was; but behind an assertion that fails it may turn
// out to be negative, which no extent of a type can be.
// CHECK-LABEL: func.func @partly
// CHECK-SAME:    %[[X:.*]]: memref<?x?xf32, strided<[?, 1], offset: ?>>
// CHECK:         %{{.*}}, %[[OFFSET:.*]], %[[SIZES:.*]]:2, %[[STRIDES:.*]]:2 = memref.extract_strided_metadata %[[X]]
// CHECK:         %[[ROWS:.*]] = arith.maxsi %[[SIZES]]#0,
// CHECK:         memref.reinterpret_cast %[[X]] to offset: [%[[OFFSET]]], sizes: [%[[ROWS]], 3], strides: [%[[STRIDES]]#0, 1]
func.func @partly(%x: memref<?x?xf32, strided<[?, 1], offset: ?>>) -> memref<?x3xf32, strided<[?, 1], offset: ?>> {
  %0 = memref.cast %x : memref<?x?xf32, strided<[?, 1], offset: ?>> to memref<?x3xf32, strided<[?, 1], offset: ?>>
  return %0 : memref<?x3xf32, strided<[?, 1], offset: ?>>
}
