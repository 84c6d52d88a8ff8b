// RUN: redfuse-opt %s -redfuse-normalize-invariants | FileCheck %s

// Every op of the loop depends on its round.
// CHECK-LABEL: func @depends
// CHECK: scf.for
// CHECK-NEXT: linalg.exp
// CHECK-NEXT: scf.yield
func.func @depends(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<4xf32>) {
    %e = linalg.exp ins(%t : tensor<4xf32>) outs(%t : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %e : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// The place is known, and it is none: the assertion in the loop says so.
// CHECK-LABEL: func @outside
// CHECK: scf.for
// CHECK: cf.assert
// CHECK: tensor.insert
func.func @outside(%x: tensor<4xf32>, %n: index, %v: f32) -> tensor<4xf32> {
  %false = arith.constant false
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<4xf32>) {
    cf.assert %false, "outside"
    %s = tensor.insert %v into %x[%c9] : tensor<4xf32>
    %a = linalg.add ins(%s, %t : tensor<4xf32>, tensor<4xf32>) outs(%t : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %a : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
