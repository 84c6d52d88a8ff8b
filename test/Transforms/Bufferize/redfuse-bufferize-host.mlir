// RUN: redfuse-opt %s -redfuse-bufferize-host -split-input-file | FileCheck %s

// The host works on buffers, the launch writes in place; the body of the kernel stays as it is.

#x = affine_map<(i) -> (i)>
// CHECK-LABEL: redfuse.kernel @k
// CHECK:         redfuse.cascade {{.*}} ins(%{{.*}} : tensor<4xf32>)
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<4xf32>) outs(%o : tensor<4xf32>) {
  ^bb0(%a: f32):
    redfuse.yield %a : f32
  } -> tensor<4xf32>
  redfuse.yield %r : tensor<4xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:.*]]: memref<4xf32>{{.*}}, %[[O:.*]]: memref<4xf32>
// CHECK-NOT:     memref.alloc
// CHECK:         redfuse.launch @k ins(%[[X]] : memref<4xf32>) outs(%[[O]] : memref<4xf32>)
func.func @main(%x: tensor<4xf32> {bufferization.writable = false}, %o: memref<4xf32>) {
  %t = bufferization.to_tensor %o restrict writable : memref<4xf32> to tensor<4xf32>
  %r = redfuse.launch @k ins(%x : tensor<4xf32>) outs(%t : tensor<4xf32>) -> tensor<4xf32>
  bufferization.materialize_in_destination %r in restrict writable %o : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// A loop carries what a launch made: a buffer of its own in every round.
// CHECK-LABEL: func.func @carried
// CHECK:         scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}) -> (memref<4xf32>)
// CHECK:           redfuse.launch @k ins(%[[A]] : memref<4xf32>) outs(%[[R:.*]] : memref<4xf32>)
// CHECK:           scf.yield %{{.*}} : memref<4xf32>
func.func @carried(%x: tensor<4xf32> {bufferization.writable = false}, %n: index, %o: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf32>
  %f = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<4xf32>) {
    %r = redfuse.launch @k ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %r : tensor<4xf32>
  }
  bufferization.materialize_in_destination %f in restrict writable %o : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

// Where the buffer of a carried tensor is still read, a round's result cannot be
// copied there: the loop has new buffers.
// CHECK-LABEL: func.func @read_later
// CHECK: scf.for
// CHECK: scf.if
// CHECK: memref.store
func.func @read_later(%x: tensor<f32>, %c: i1) -> tensor<f32> {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1.0 : f32
  %r = scf.for %i = %c1 to %c4 step %c2 iter_args(%t = %x) -> (tensor<f32>) {
    %s = scf.if %c -> (tensor<f32>) {
      scf.yield %x : tensor<f32>
    } else {
      %u = tensor.insert %one into %t[] : tensor<f32>
      scf.yield %u : tensor<f32>
    }
    scf.yield %s : tensor<f32>
  }
  return %r : tensor<f32>
}

// -----

// A body that takes nothing and makes nothing.
// CHECK-LABEL: func.func @point
// CHECK-NOT: linalg.generic
// CHECK: cf.assert
// CHECK-NOT: linalg.generic
func.func @point(%c: i1) {
  "linalg.generic"() <{indexing_maps = [], iterator_types = [], operandSegmentSizes = array<i32: 0, 0>}> ({
    cf.assert %c, "wrong"
    linalg.yield
  }) : () -> ()
  return
}

// -----

// Two loops that begin with one row have a buffer each, which is begun twice.

// CHECK-LABEL: func.func @begun
// CHECK:         %[[A:.*]] = memref.alloc() {{.*}} : memref<5x4xf32>
// CHECK:         %[[B:.*]] = memref.alloc() {{.*}} : memref<5x4xf32>
// CHECK-COUNT-2: memref.copy %{{.*}}, %{{.*}} : memref<4xf32{{.*}} to memref<4xf32, strided<[1]>>
// CHECK-NOT:     memref.copy {{.*}} : memref<5x4xf32>
// CHECK-COUNT-2: scf.for
func.func @begun(%x: tensor<4xf32> {bufferization.writable = false}, %n: index, %v: f32)
    -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<5x4xf32>
  %t = tensor.insert_slice %x into %e[0, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<5x4xf32>
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%r = %t) -> (tensor<5x4xf32>) {
    %w = tensor.insert %v into %r[%i, %c0] : tensor<5x4xf32>
    scf.yield %w : tensor<5x4xf32>
  }
  %b = scf.for %i = %c0 to %n step %c1 iter_args(%r = %t) -> (tensor<5x4xf32>) {
    %w = tensor.insert %v into %r[%c0, %i] : tensor<5x4xf32>
    scf.yield %w : tensor<5x4xf32>
  }
  %y = tensor.extract %a[%n, %c0] : tensor<5x4xf32>
  %z = tensor.extract %b[%n, %c0] : tensor<5x4xf32>
  return %y, %z : f32, f32
}
