// RUN: redfuse-opt %s -redfuse-cut-carried=limit=8 | FileCheck %s

// Five loops in a row: a copy behind the second and the fourth, which the next reads.

// CHECK-LABEL: func.func @loops
// CHECK:         %[[A:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %{{.*}})
// CHECK:         %[[B:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[A]])
// CHECK:         %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[B]]) : tensor<4xf32>
// CHECK:         %[[C:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[COPY]])
// CHECK:         %[[D:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[C]])
// CHECK:         %[[AGAIN:.*]] = bufferization.alloc_tensor() copy(%[[D]]) : tensor<4xf32>
// CHECK:         %[[E:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[AGAIN]])
// CHECK:         return %[[E]]
func.func @loops(%x: tensor<4xf32>, %n: index, %v: f32) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<4xf32>) {
    %w = tensor.insert %v into %t[%i] : tensor<4xf32>
    scf.yield %w : tensor<4xf32>
  }
  %b = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> (tensor<4xf32>) {
    %w = tensor.insert %v into %t[%i] : tensor<4xf32>
    scf.yield %w : tensor<4xf32>
  }
  %c = scf.for %i = %c0 to %n step %c1 iter_args(%t = %b) -> (tensor<4xf32>) {
    %w = tensor.insert %v into %t[%i] : tensor<4xf32>
    scf.yield %w : tensor<4xf32>
  }
  %d = scf.for %i = %c0 to %n step %c1 iter_args(%t = %c) -> (tensor<4xf32>) {
    %w = tensor.insert %v into %t[%i] : tensor<4xf32>
    scf.yield %w : tensor<4xf32>
  }
  %e = scf.for %i = %c0 to %n step %c1 iter_args(%t = %d) -> (tensor<4xf32>) {
    %w = tensor.insert %v into %t[%i] : tensor<4xf32>
    scf.yield %w : tensor<4xf32>
  }
  return %e : tensor<4xf32>
}

// A chain goes on through ops that write a part, through casts, and through branches, whose
// results are what they yield.

// CHECK-LABEL: func.func @through
// CHECK:         %[[FOR:.*]] = scf.for
// CHECK-NOT:     alloc_tensor
// CHECK:         %[[IF:.*]] = scf.if
// CHECK:         %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[IF]]) : tensor<?xf32>
// CHECK:         return %[[COPY]]
func.func @through(%x: tensor<?xf32>, %n: index, %v: f32, %p: i1) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<?xf32>) {
    %w = tensor.insert %v into %t[%i] : tensor<?xf32>
    scf.yield %w : tensor<?xf32>
  }
  %b = tensor.insert %v into %a[%c0] : tensor<?xf32>
  %c = tensor.cast %b : tensor<?xf32> to tensor<8xf32>
  %d = tensor.cast %c : tensor<8xf32> to tensor<?xf32>
  %e = scf.if %p -> (tensor<?xf32>) {
    %w = tensor.insert %v into %d[%c1] : tensor<?xf32>
    scf.yield %w : tensor<?xf32>
  } else {
    scf.yield %d : tensor<?xf32>
  }
  return %e : tensor<?xf32>
}

// A loop around loops is one that they are part of: its rounds begin a chain, and it ends one.

// CHECK-LABEL: func.func @nested
// CHECK:         %[[OUTER:.*]] = scf.for
// CHECK:           %[[INNER:.*]] = scf.for
// CHECK-NOT:       alloc_tensor
// CHECK:           scf.yield %[[INNER]]
// CHECK:         bufferization.alloc_tensor() copy(%[[OUTER]]) : tensor<4xf32>
func.func @nested(%x: tensor<4xf32>, %n: index, %v: f32) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> (tensor<4xf32>) {
    %b = scf.for %j = %c0 to %n step %c1 iter_args(%s = %t) -> (tensor<4xf32>) {
      %w = tensor.insert %v into %s[%j] : tensor<4xf32>
      scf.yield %w : tensor<4xf32>
    }
    scf.yield %b : tensor<4xf32>
  }
  return %a : tensor<4xf32>
}
