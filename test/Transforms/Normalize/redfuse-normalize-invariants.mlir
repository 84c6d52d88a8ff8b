// RUN: redfuse-opt %s -split-input-file -redfuse-normalize-invariants | FileCheck %s

// Scalars leave, and so does what is computed of tensors of known extents.
// CHECK-LABEL: func @leave
// CHECK: arith.addi
// CHECK: linalg.exp
// CHECK: scf.for
// CHECK-NOT: arith.addi
// CHECK-NOT: linalg.exp
func.func @leave(%x: tensor<4xf32>, %n: index, %m: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<4xf32>) {
    %k = arith.addi %n, %m : index
    %s = scf.for %j = %c0 to %k step %c1 iter_args(%u = %t) -> (tensor<4xf32>) {
      %e = linalg.exp ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
      %a = linalg.add ins(%e, %u : tensor<4xf32>, tensor<4xf32>) outs(%u : tensor<4xf32>)
          -> tensor<4xf32>
      scf.yield %a : tensor<4xf32>
    }
    scf.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// A read at a computed place is checked in the loop, which may have no round.
// CHECK-LABEL: func @stay
// CHECK: scf.for
// CHECK: tensor.extract
// CHECK: tensor.extract_slice
func.func @stay(%x: tensor<?xf32>, %n: index, %k: index, %z: tensor<3xf32>) -> tensor<3xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %z) -> (tensor<3xf32>) {
    %v = tensor.extract %x[%k] : tensor<?xf32>
    %s = tensor.extract_slice %x[%k] [3] [1] : tensor<?xf32> to tensor<3xf32>
    %u = tensor.insert %v into %s[%c0] : tensor<3xf32>
    %a = linalg.add ins(%u, %t : tensor<3xf32>, tensor<3xf32>) outs(%t : tensor<3xf32>)
        -> tensor<3xf32>
    scf.yield %a : tensor<3xf32>
  }
  return %r : tensor<3xf32>
}
