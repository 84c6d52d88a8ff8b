// RUN: redfuse-opt %s -redfuse-normalize-loops | FileCheck %s

// CHECK-LABEL: func.func @recurrence
// CHECK-SAME: redfuse.refused = [{condition = "a loop cannot be read as a linalg.generic"
// CHECK-SAME: detail = "what it carries is no sum, product, maximum, affine recurrence or the like"
// CHECK: scf.for
func.func @recurrence(%x: tensor<9xf32>, %init: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %i = %c0 to %c9 step %c1 iter_args(%acc = %init) -> f32 {
    %e = tensor.extract %x[%i] : tensor<9xf32>
    %d = arith.divf %e, %acc : f32
    scf.yield %d : f32
  }
  return %r : f32
}

// The square of what is carried: not one reduction.
// CHECK-LABEL: func.func @squares
// CHECK-SAME: detail = "what it carries is no sum, product, maximum, affine recurrence or the like"
// CHECK: scf.for
func.func @squares(%x: tensor<9xf32>, %y: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %i = %c0 to %c9 step %c1 iter_args(%acc = %y) -> f32 {
    %e = tensor.extract %x[%i] : tensor<9xf32>
    %d = arith.mulf %acc, %acc : f32
    %s = arith.addf %d, %e : f32
    scf.yield %s : f32
  }
  return %r : f32
}

// CHECK-LABEL: func.func @strided
// CHECK-SAME: detail = "it does not count from 0 by 1"
// CHECK: scf.for
func.func @strided(%x: tensor<9xf32>, %init: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %i = %c0 to %c9 step %c2 iter_args(%acc = %init) -> f32 {
    %e = tensor.extract %x[%i] : tensor<9xf32>
    %d = arith.addf %e, %acc : f32
    scf.yield %d : f32
  }
  return %r : f32
}

// Half of the tensor keeps what it held; a running sum reads its neighbour.
// CHECK-LABEL: func.func @partly
// CHECK-SAME: detail = "it may not run over all of a tensor it writes"
// CHECK-COUNT-2: scf.for
func.func @partly(%x: tensor<9xf32>) -> (tensor<9xf32>, tensor<9xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c9 = arith.constant 9 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%out = %x) -> tensor<9xf32> {
    %e = tensor.extract %x[%i] : tensor<9xf32>
    %d = arith.negf %e : f32
    %w = tensor.insert %d into %out[%i] : tensor<9xf32>
    scf.yield %w : tensor<9xf32>
  }
  %s = scf.for %i = %c0 to %c9 step %c1 iter_args(%out = %x) -> tensor<9xf32> {
    %p = arith.subi %i, %c1 : index
    %q = arith.maxsi %p, %c0 : index
    %e = tensor.extract %out[%q] : tensor<9xf32>
    %d = arith.negf %e : f32
    %w = tensor.insert %d into %out[%i] : tensor<9xf32>
    scf.yield %w : tensor<9xf32>
  }
  return %r, %s : tensor<9xf32>, tensor<9xf32>
}

// Two running values that need each other.
// CHECK-LABEL: func @coupled
// CHECK-SAME: detail = "what it carries is no sum, product, maximum, affine recurrence or the like"
func.func @coupled(%x: tensor<9xf32>, %e: tensor<9xf32>) -> tensor<9xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: scf.for
  %r:3 = scf.for %j = %c0 to %c9 step %c1 iter_args(%g = %zero, %h = %zero, %p = %e) -> (f32, f32, tensor<9xf32>) {
    %v = tensor.extract %x[%j] : tensor<9xf32>
    %s = arith.addf %h, %v : f32
    %t = arith.mulf %g, %s : f32
    %q = tensor.insert %t into %p[%j] : tensor<9xf32>
    scf.yield %s, %t, %q : f32, f32, tensor<9xf32>
  }
  return %r#2 : tensor<9xf32>
}
