// RUN: redfuse-opt %s -split-input-file -redfuse-check-accesses | FileCheck %s
// What is known to be right is not checked.

// CHECK-LABEL: func @loops
// CHECK-NOT: cf.assert
func.func @loops(%x: tensor<?x?xf32>, %z: f32) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = tensor.dim %x, %c0 : tensor<?x?xf32>
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m) : tensor<?xf32>
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%out = %e) -> (tensor<?xf32>) {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %z) -> f32 {
      %v = tensor.extract %x[%i, %j] : tensor<?x?xf32>
      %t = arith.addf %sum, %v : f32
      scf.yield %t : f32
    }
    %u = tensor.insert %s into %out[%i] : tensor<?xf32>
    scf.yield %u : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// -----

// i + j * 2 goes up to (n - 5) + 2 * 2.
// CHECK-LABEL: func @sums
// CHECK-NOT: cf.assert
func.func @sums(%x: tensor<?xf32>, %z: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %m = arith.subi %n, %c4 : index
  %r = scf.for %i = %c0 to %m step %c1 iter_args(%outer = %z) -> f32 {
    %s = scf.for %j = %c0 to %c3 step %c1 iter_args(%sum = %outer) -> f32 {
      %a = arith.muli %j, %c2 : index
      %k = arith.addi %i, %a : index
      %v = tensor.extract %x[%k] : tensor<?xf32>
      %t = arith.addf %sum, %v : f32
      scf.yield %t : f32
    }
    scf.yield %s : f32
  }
  return %r : f32
}

// -----

// Tiles that end with the tensor.
// CHECK-LABEL: func @tiles
// CHECK-NOT: cf.assert
func.func @tiles(%x: tensor<?xf32>, %z: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %r = scf.for %i = %c0 to %n step %c16 iter_args(%outer = %z) -> f32 {
    %after = arith.addi %i, %c16 : index
    %end = arith.minsi %after, %n : index
    %s = scf.for %j = %i to %end step %c1 iter_args(%sum = %outer) -> f32 {
      %v = tensor.extract %x[%j] : tensor<?xf32>
      %t = arith.addf %sum, %v : f32
      scf.yield %t : f32
    }
    scf.yield %s : f32
  }
  return %r : f32
}

// -----

// What the program asserts, and what its branches ask for.
// CHECK-LABEL: func @asserted
// CHECK: cf.assert %{{.*}}, "too large"
// CHECK: cf.assert %{{.*}}, "negative"
// CHECK-NOT: cf.assert
func.func @asserted(%x: tensor<?xf32>, %at: i64, %k: index, %z: f32) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %none = arith.constant 0 : i64
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %i = arith.index_cast %at : i64 to index
  %p = arith.cmpi slt, %i, %n : index
  cf.assert %p, "too large"
  %q = arith.cmpi sge, %at, %none : i64
  cf.assert %q, "negative"
  %v = tensor.extract %x[%i] : tensor<?xf32>
  %s = arith.cmpi ult, %k, %n : index
  %w = scf.if %s -> f32 {
    %u = tensor.extract %x[%k] : tensor<?xf32>
    scf.yield %u : f32
  } else {
    scf.yield %z : f32
  }
  return %v, %w : f32, f32
}

// -----

// CHECK-LABEL: func @remainders
// CHECK-NOT: cf.assert
func.func @remainders(%x: tensor<40xf32>, %i: index, %y: tensor<?xf32>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %k = arith.remui %i, %c40 : index
  %v = tensor.extract %x[%k] : tensor<40xf32>
  %h = arith.andi %i, %c1 : index
  %w = tensor.extract %x[%h] : tensor<40xf32>
  return %v, %w : f32, f32
}

// -----

// Extents of one tensor, however they are asked for.
// CHECK-LABEL: func @extents
// CHECK-NOT: cf.assert
func.func @extents(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x64xf32>
  %e = tensor.empty(%n) : tensor<?x64xf32>
  %a = linalg.exp ins(%x : tensor<?x64xf32>) outs(%e : tensor<?x64xf32>) -> tensor<?x64xf32>
  %s = tensor.extract_slice %a[0, 0] [%n, 32] [1, 1] : tensor<?x64xf32> to tensor<?x32xf32>
  %r = tensor.insert_slice %s into %x[0, 32] [%n, 32] [1, 1]
      : tensor<?x32xf32> into tensor<?x64xf32>
  %v = linalg.add ins(%r, %x : tensor<?x64xf32>, tensor<?x64xf32>) outs(%e : tensor<?x64xf32>)
      -> tensor<?x64xf32>
  return %v : tensor<?x64xf32>
}
