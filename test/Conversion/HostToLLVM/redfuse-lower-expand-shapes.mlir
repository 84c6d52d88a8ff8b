// RUN: redfuse-opt %s -redfuse-lower-expand-shapes -canonicalize | FileCheck %s

// Two extents of a group that are not known, which upstream's lowering of
// expand_shape does not take.
// CHECK-LABEL: func.func @two_dynamic
// CHECK-SAME: %[[X:[^:]+]]: memref<?xf32>, %[[N:[^:]+]]: index, %[[M:[^:]+]]: index
// CHECK: %[[S:.+]] = affine.apply {{.+}}()[%[[M]]]
// CHECK: memref.reinterpret_cast %[[X]] to offset: [0], sizes: [%[[N]], %[[M]], 4], strides: {{\[}}%[[S]], 4, 1] : memref<?xf32> to memref<?x?x4xf32>
func.func @two_dynamic(%x: memref<?xf32>, %n: index, %m: index) -> memref<?x?x4xf32> {
  %y = memref.expand_shape %x [[0, 1, 2]] output_shape [%n, %m, 4] : memref<?xf32> into memref<?x?x4xf32>
  return %y : memref<?x?x4xf32>
}

// The same of every second element from the third on: strides are multiples of 2.
// CHECK-LABEL: func.func @two_dynamic_of_a_slice
// CHECK-SAME: %[[X:[^:]+]]: memref<?xf32, strided<[2], offset: 2>>, %[[N:[^:]+]]: index, %[[M:[^:]+]]: index
// CHECK: %[[S:.+]] = affine.apply {{.+}}()[%[[M]]]
// CHECK: memref.reinterpret_cast %[[X]] to offset: [2], sizes: [%[[N]], %[[M]], 4], strides: {{\[}}%[[S]], 8, 2]
func.func @two_dynamic_of_a_slice(%x: memref<?xf32, strided<[2], offset: 2>>, %n: index, %m: index) -> memref<?x?x4xf32, strided<[?, 8, 2], offset: 2>> {
  %y = memref.expand_shape %x [[0, 1, 2]] output_shape [%n, %m, 4] : memref<?xf32, strided<[2], offset: 2>> into memref<?x?x4xf32, strided<[?, 8, 2], offset: 2>>
  return %y : memref<?x?x4xf32, strided<[?, 8, 2], offset: 2>>
}

// Groups that are known beside one that is not, and a stride known at run time.
// CHECK-LABEL: func.func @of_two_groups
// CHECK-SAME: %[[X:[^:]+]]: memref<6x?xf32, strided<[?, 1]>>, %[[N:[^:]+]]: index, %[[M:[^:]+]]: index
// CHECK: %{{.+}}, %{{.+}}, %{{.+}}:2, %[[T:.+]]:2 = memref.extract_strided_metadata %[[X]]
// CHECK: %[[S:.+]] = affine.apply {{.+}}()[%[[T]]#0]
// CHECK: memref.reinterpret_cast %[[X]] to offset: [0], sizes: [2, 3, %[[N]], %[[M]]], strides: {{\[}}%[[S]], %[[T]]#0, %[[M]], 1]
func.func @of_two_groups(%x: memref<6x?xf32, strided<[?, 1]>>, %n: index, %m: index) -> memref<2x3x?x?xf32, strided<[?, ?, ?, 1]>> {
  %y = memref.expand_shape %x [[0, 1], [2, 3]] output_shape [2, 3, %n, %m] : memref<6x?xf32, strided<[?, 1]>> into memref<2x3x?x?xf32, strided<[?, ?, ?, 1]>>
  return %y : memref<2x3x?x?xf32, strided<[?, ?, ?, 1]>>
}
