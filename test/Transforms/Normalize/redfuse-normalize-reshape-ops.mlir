// RUN: redfuse-opt %s -redfuse-normalize-reshape-ops | FileCheck %s

// The new extents are those of the same tensor, by way of i64.
// CHECK-LABEL: func.func @split
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x?x?xf32>
// CHECK: %[[E:.+]] = tensor.expand_shape %[[X]] {{\[}}[0, 1], [2], [3]] output_shape [2, 2, %{{.*}}, %{{.*}}]
// CHECK: return %[[E]]
func.func @split(%x: tensor<4x?x?xf32>) -> tensor<2x2x?x?xf32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %two = arith.constant 2 : i64
  %m = tensor.dim %x, %c1 : tensor<4x?x?xf32>
  %n = tensor.dim %x, %c2 : tensor<4x?x?xf32>
  %a = arith.index_cast %m : index to i64
  %b = arith.index_cast %n : index to i64
  %shape = tensor.from_elements %two, %two, %a, %b : tensor<4xi64>
  %r = tensor.reshape %x(%shape) : (tensor<4x?x?xf32>, tensor<4xi64>) -> tensor<2x2x?x?xf32>
  return %r : tensor<2x2x?x?xf32>
}

// Regrouping needs both: [6, n, 5] to [2, 3, n * 5] and [4, 6] to [3, 8].
// CHECK-LABEL: func.func @regroup
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0], [1, 2]{{\]}} : tensor<6x?x5xf32> into tensor<6x?xf32>
// CHECK: tensor.expand_shape %{{.*}} {{\[}}[0, 1], [2]]
// CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0, 1]{{\]}} : tensor<4x6xf32> into tensor<24xf32>
// CHECK: tensor.expand_shape %{{.*}} {{\[}}[0, 1]{{\]}} output_shape [3, 8]
func.func @regroup(%x: tensor<6x?x5xf32>, %y: tensor<4x6xf32>, %s: tensor<2xindex>) -> (tensor<2x3x?x5xf32>, tensor<2x3x?xf32>, tensor<3x8xf32>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %n = tensor.dim %x, %c1 : tensor<6x?x5xf32>
  %shape = tensor.from_elements %c2, %c3, %n, %c5 : tensor<4xindex>
  %a = tensor.reshape %x(%shape) : (tensor<6x?x5xf32>, tensor<4xindex>) -> tensor<2x3x?x5xf32>
  %flat = tensor.collapse_shape %x [[0], [1, 2]] : tensor<6x?x5xf32> into tensor<6x?xf32>
  %c1b = arith.constant 1 : index
  %m = tensor.dim %flat, %c1b : tensor<6x?xf32>
  %shape2 = tensor.from_elements %c2, %c3, %m : tensor<3xindex>
  %b = tensor.reshape %flat(%shape2) : (tensor<6x?xf32>, tensor<3xindex>) -> tensor<2x3x?xf32>
  %c = tensor.reshape %y(%s) : (tensor<4x6xf32>, tensor<2xindex>) -> tensor<3x8xf32>
  return %a, %b, %c : tensor<2x3x?x5xf32>, tensor<2x3x?xf32>, tensor<3x8xf32>
}

// Extents from nowhere: the reshape stays, and the function says so.
// CHECK-LABEL: func.func @unknown
// CHECK-SAME: redfuse.refused = [{condition = "the shapes of a reshape cannot be matched"
// CHECK: tensor.reshape
func.func @unknown(%x: tensor<?xf32>, %a: index, %b: index) -> tensor<?x?xf32> {
  %shape = tensor.from_elements %a, %b : tensor<2xindex>
  %r = tensor.reshape %x(%shape) : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
