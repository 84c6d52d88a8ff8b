// RUN: redfuse-opt %s -redfuse-normalize-reshape-ops | FileCheck %s

// A reshape that stays is noted at its function, and nothing else is changed.

// The new extents are data: their number is known, and nothing else.
// CHECK-LABEL: func.func @data
// CHECK-SAME: redfuse.refused = [{condition = "the shapes of a reshape cannot be matched"
// CHECK-SAME: detail = "from tensor<?x12xf32> to tensor<?x?xf32>"
// CHECK-NEXT: %[[R:.+]] = tensor.reshape
// CHECK-NEXT: return %[[R]]
func.func @data(%x: tensor<?x12xf32>, %shape: tensor<2xindex>) -> tensor<?x?xf32> {
  %r = tensor.reshape %x(%shape) : (tensor<?x12xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// The dims of the source are not known, not even how many there are.
// CHECK-LABEL: func.func @unranked
// CHECK-SAME: redfuse.refused = [{condition = "the shapes of a reshape cannot be matched"
// CHECK-SAME: detail = "from tensor<*xf32> to tensor<3x4xf32>"
// CHECK-NEXT: %[[R:.+]] = tensor.reshape
// CHECK-NEXT: return %[[R]]
func.func @unranked(%x: tensor<*xf32>, %shape: tensor<2xindex>) -> tensor<3x4xf32> {
  %r = tensor.reshape %x(%shape) : (tensor<*xf32>, tensor<2xindex>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// The extent is that of another tensor, which need not be as long.
// CHECK-LABEL: func.func @other
// CHECK-SAME: redfuse.refused = [{condition = "the shapes of a reshape cannot be matched"
// CHECK-SAME: detail = "from tensor<?x12xf32> to tensor<?x3x4xf32>"
// CHECK: tensor.dim %arg1
// CHECK-NEXT: tensor.from_elements
// CHECK-NEXT: %[[R:.+]] = tensor.reshape
// CHECK-NEXT: return %[[R]]
func.func @other(%x: tensor<?x12xf32>, %y: tensor<?xf32>) -> tensor<?x3x4xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %y, %c0 : tensor<?xf32>
  %shape = tensor.from_elements %n, %c3, %c4 : tensor<3xindex>
  %r = tensor.reshape %x(%shape) : (tensor<?x12xf32>, tensor<3xindex>) -> tensor<?x3x4xf32>
  return %r : tensor<?x3x4xf32>
}

// On buffers it stays, and there is nothing to note.
// CHECK-LABEL: func.func @buffers
// CHECK-NOT: redfuse.refused
// CHECK: memref.reshape
func.func @buffers(%x: memref<6x4xf32>, %shape: memref<2xindex>) -> memref<3x8xf32> {
  %r = memref.reshape %x(%shape) : (memref<6x4xf32>, memref<2xindex>) -> memref<3x8xf32>
  return %r : memref<3x8xf32>
}
