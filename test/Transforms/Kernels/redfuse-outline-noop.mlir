// RUN: redfuse-opt %s -redfuse-outline | FileCheck %s

// Nothing to outline: what is not a fusion group stays host code.
// CHECK-LABEL: func.func @main
// CHECK:         tensor.dim
// CHECK-NOT:     redfuse.
func.func @main(%x: tensor<?xf32>) -> index {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?xf32>
  return %d : index
}
