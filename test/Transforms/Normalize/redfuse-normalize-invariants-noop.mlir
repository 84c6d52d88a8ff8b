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
