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

// A slice behind an assertion that fails may be of a negative extent.
// CHECK-LABEL: func.func @slice
// CHECK-SAME:    %[[X:.*]]: memref<?x4xf32>, %[[N:.*]]: index
// CHECK:         %[[SIZE:.*]] = arith.maxsi %[[N]], %c0
// CHECK:         memref.subview %[[X]][0, 1] [%[[SIZE]], 2] [1, 1]
// CHECK:         memref.subview %[[X]][0, 0] [0, 4] [1, 1]
func.func @slice(%x: memref<?x4xf32>, %n: index) -> (memref<?x2xf32, strided<[4, 1], offset: 1>>, memref<?x4xf32, strided<[4, 1]>>) {
  %c-1 = arith.constant -1 : index
  %0 = memref.subview %x[0, 1] [%n, 2] [1, 1] : memref<?x4xf32> to memref<?x2xf32, strided<[4, 1], offset: 1>>
  %1 = memref.subview %x[0, 0] [%c-1, 4] [1, 1] : memref<?x4xf32> to memref<?x4xf32, strided<[4, 1]>>
  return %0, %1 : memref<?x2xf32, strided<[4, 1], offset: 1>>, memref<?x4xf32, strided<[4, 1]>>
}
