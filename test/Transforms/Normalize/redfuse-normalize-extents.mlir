// RUN: redfuse-opt %s -redfuse-normalize-extents | FileCheck %s

// A number of elements is no less than 0, so the sizes of the reshape are the
// extents and their product.
// CHECK-LABEL: func.func @no_inferred_dim
// CHECK: %[[M:.+]] = arith.muli
// CHECK-NOT: arith.cmpi
// CHECK-NOT: arith.select
// CHECK: tensor.from_elements %[[M]], %{{.+}} : tensor<2xi64>
func.func @no_inferred_dim(%x: tensor<?x?x?xf32>) -> tensor<2xi64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %d0 = tensor.dim %x, %c0 : tensor<?x?x?xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?x?xf32>
  %d2 = tensor.dim %x, %c2 : tensor<?x?x?xf32>
  %a = arith.index_cast %d0 : index to i64
  %b = arith.index_cast %d1 : index to i64
  %c = arith.index_cast %d2 : index to i64
  %ab = arith.muli %a, %b : i64
  %negative = arith.cmpi slt, %ab, %zero : i64
  %known = arith.select %negative, %one, %ab : i64
  %others = arith.muli %known, %c : i64
  %all = arith.muli %ab, %c : i64
  %inferred = arith.divsi %all, %others : i64
  %size = arith.select %negative, %inferred, %ab : i64
  %shape = tensor.from_elements %size, %c : tensor<2xi64>
  return %shape : tensor<2xi64>
}

// A product divided by a factor, which a collapsed dim has too; times 3 over 3.
// CHECK-LABEL: func.func @inferred_dim
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x?xf32>
// CHECK: %[[C1:.+]] = arith.constant 1 : index
// CHECK: %[[D1:.+]] = tensor.dim %[[X]], %[[C1]]
// CHECK: return %[[D1]], %{{.+}} : index, i1
func.func @inferred_dim(%x: tensor<?x?xf32>) -> (index, i1) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %d0 = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %flat, %c0 : tensor<?xf32>
  %n3 = arith.muli %n, %c3 : index
  %m3 = arith.muli %c3, %d0 : index
  %rest = arith.divui %n3, %m3 : index
  %back = arith.muli %rest, %d0 : index
  %same = arith.cmpi eq, %back, %n : index
  return %rest, %same : index, i1
}

// Upstream's form of the extent of collapsed dims.
// CHECK-LABEL: func.func @affine_product
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x4xf32>
// CHECK: %[[D0:.+]] = tensor.dim %[[X]], %{{.+}}
// CHECK: return %[[D0]]
func.func @affine_product(%x: tensor<?x4xf32>) -> index {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x4xf32>
  %n = affine.apply affine_map<()[s0] -> (s0 * 4)>()[%d0]
  %rows = arith.divsi %n, %c4 : index
  return %rows : index
}

// What is no extent may be negative or wrap; what is no factor does not divide.
// CHECK-LABEL: func.func @unknown
// CHECK: arith.cmpi slt
// CHECK: arith.divsi
// CHECK: arith.divsi
func.func @unknown(%x: tensor<?x?xf32>, %n: index) -> (i1, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %x, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %x, %c1 : tensor<?x?xf32>
  %p = arith.muli %d0, %n : index
  %a = arith.cmpi slt, %p, %c0 : index
  %b = arith.divsi %p, %n : index
  %c = arith.divsi %d0, %d1 : index
  return %a, %b, %c : i1, index, index
}

// A pad's source has what its type tells; so has what that is collapsed from.
// CHECK-LABEL: func.func @padded
// CHECK-SAME: %[[X:.+]]: tensor<2x2x?xf32>
// CHECK: %[[TOLD:.+]] = tensor.cast %[[X]] : tensor<2x2x?xf32> to tensor<2x2x3xf32>
// CHECK: %[[FLAT:.+]] = tensor.collapse_shape %[[TOLD]] {{.*}} into tensor<2x6xf32>
// CHECK: tensor.pad %[[FLAT]]
// CHECK: tensor<2x6xf32> to tensor<3x7xf32>
func.func @padded(%x: tensor<2x2x?xf32>, %p: f32) -> tensor<3x7xf32> {
  %flat = tensor.collapse_shape %x [[0], [1, 2]] : tensor<2x2x?xf32> into tensor<2x?xf32>
  %r = tensor.pad %flat low[0, 1] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %p : f32
  } : tensor<2x?xf32> to tensor<3x7xf32>
  return %r : tensor<3x7xf32>
}

// An odd extent is no multiple of 2, a negative one none of a tensor, and how much is
// padded may be unknown: what asserts it stops.
// CHECK-LABEL: func.func @never
// CHECK: %[[FLAT:.+]] = tensor.collapse_shape {{.*}} into tensor<?xf32>
// CHECK: %[[TOLD:.+]] = tensor.cast %[[FLAT]] : tensor<?xf32> to tensor<7xf32>
// CHECK: tensor.pad %[[TOLD]] low[0] high[2]
// CHECK: tensor.pad %[[FLAT]] low[5] high[5]
// CHECK: tensor.pad %[[FLAT]] low[0] high[%{{.+}}]
func.func @never(%x: tensor<2x?xf32>, %p: f32, %n: index)
    -> (tensor<9xf32>, tensor<9xf32>, tensor<9xf32>) {
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<2x?xf32> into tensor<?xf32>
  %a = tensor.pad %flat low[0] high[2] {
  ^bb0(%i: index):
    tensor.yield %p : f32
  } : tensor<?xf32> to tensor<9xf32>
  %b = tensor.pad %flat low[5] high[5] {
  ^bb0(%i: index):
    tensor.yield %p : f32
  } : tensor<?xf32> to tensor<9xf32>
  %c = tensor.pad %flat low[0] high[%n] {
  ^bb0(%i: index):
    tensor.yield %p : f32
  } : tensor<?xf32> to tensor<9xf32>
  return %a, %b, %c : tensor<9xf32>, tensor<9xf32>, tensor<9xf32>
}
