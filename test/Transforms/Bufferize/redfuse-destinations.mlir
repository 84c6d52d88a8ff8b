// RUN: redfuse-opt %s -redfuse-destinations -split-input-file | FileCheck %s

// The result becomes an argument, which the launch writes itself; the inputs are the caller's.
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<?x4xf32>, %o: tensor<?x4xf32>):
  redfuse.yield %o : tensor<?x4xf32>
}
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %r = redfuse.launch @k ins(%x : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}
// CHECK-LABEL: func.func @main__shapes
// CHECK-SAME:    %[[X:[^:]*]]: tensor<?x4xf32>
// CHECK-SAME:    %[[S:[^:]*]]: memref<?xindex>
// CHECK-NOT:     redfuse.launch
// CHECK:         %[[N:.*]] = tensor.dim %[[X]]
// CHECK:         memref.store %[[N]], %[[S]]
// CHECK:         memref.store %c4{{.*}}, %[[S]]
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    bufferization.writable = false
// CHECK-SAME:    %[[O:[^:]*]]: memref<?x4xf32>) {
// CHECK:         %[[T:.*]] = bufferization.to_tensor %[[O]] restrict writable
// CHECK:         redfuse.launch @k ins(%{{.*}}) outs(%[[T]]
// CHECK:         bufferization.materialize_in_destination
// CHECK:         return
// CHECK-NEXT:  }

// -----

// A scalar is stored; an argument that is returned is copied by bufferization.
func.func @others(%x: tensor<4xf32>, %s: f32) -> (f32, tensor<4xf32>) {
  return %s, %x : f32, tensor<4xf32>
}
// CHECK-LABEL: func.func @others(
// CHECK-SAME:    %[[A:[^:]*]]: memref<f32>, %[[B:[^:]*]]: memref<4xf32>)
// CHECK-DAG:     memref.store %{{.*}}, %[[A]][]
// CHECK-DAG:     materialize_in_destination %{{.*}} in restrict writable %[[B]]

// -----

// Every return writes to the destinations.
// CHECK-LABEL: func.func @blocks__shapes(
// CHECK: memref.store
// CHECK-LABEL: func.func @blocks(
// CHECK-SAME: %[[C:.*]]: i1, %[[X:.*]]: tensor<?xf32> {{.*}}, %[[Y:.*]]: tensor<?xf32> {{.*}}, %[[OUT:.*]]: memref<?xf32>)
// CHECK: cf.cond_br %[[C]], ^[[FIRST:.*]], ^[[SECOND:.*]]
// CHECK: ^[[FIRST]]:
// CHECK-NEXT: bufferization.materialize_in_destination %[[X]] in restrict writable %[[OUT]]
// CHECK-NEXT: return
// CHECK: ^[[SECOND]]:
// CHECK-NEXT: bufferization.materialize_in_destination %[[Y]] in restrict writable %[[OUT]]
// CHECK-NEXT: return
func.func @blocks(%c: i1, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  cf.cond_br %c, ^first, ^second
^first:
  return %x : tensor<?xf32>
^second:
  return %y : tensor<?xf32>
}

// -----

// What is changed for another result is computed beside the caller's memory.
// CHECK-LABEL: func.func @changed(
// CHECK:         %[[E:.*]] = tensor.empty() : tensor<4xf32>
// CHECK:         %[[L:.*]] = redfuse.launch @k ins(%{{.*}}) outs(%[[E]]
// CHECK:         tensor.insert %{{.*}} into %[[L]]
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
  redfuse.yield %x : tensor<4xf32>
}
func.func @changed(%x: tensor<4xf32>, %v: f32, %i: index) -> (tensor<2x2xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %r = redfuse.launch @k ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = tensor.expand_shape %r [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %t = tensor.insert %v into %r[%i] : tensor<4xf32>
  return %s, %t : tensor<2x2xf32>, tensor<4xf32>
}

// -----

// A kernel that asserts runs once: what asks for extents alone does without.
// CHECK-LABEL: func.func @asserting__shapes(
// CHECK-NOT:     redfuse.launch
// CHECK-LABEL: func.func @asserting(
// CHECK:         redfuse.launch @k
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<4xf32>, %o: tensor<4xf32>):
  redfuse.yield %x : tensor<4xf32>
}
func.func @asserting(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = redfuse.launch @k ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {redfuse.asserts} -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// Reshapes of two kinds lie between a launch and its result, which the launch still writes itself.
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<6x4x2xf32>, %o: tensor<6x4x2xf32>):
  redfuse.yield %o : tensor<6x4x2xf32>
}
// CHECK-LABEL: func.func @reshaped(
// CHECK-SAME:    %[[O:[^:]*]]: memref<1x6x8xf32>) {
// CHECK-DAG:     %[[T:.*]] = bufferization.to_tensor %[[O]] restrict writable
// CHECK:         %[[E:.*]] = tensor.expand_shape %[[T]] {{\[}}[0], [1], [2, 3]{{\]}} output_shape [1, 6, 4, 2]
// CHECK:         %[[C:.*]] = tensor.collapse_shape %[[E]] {{\[}}[0, 1], [2], [3]{{\]}}
// CHECK:         redfuse.launch @k ins(%{{.*}}) outs(%[[C]]
func.func @reshaped(%x: tensor<6x4x2xf32>) -> tensor<1x6x8xf32> {
  %e = tensor.empty() : tensor<6x4x2xf32>
  %r = redfuse.launch @k ins(%x : tensor<6x4x2xf32>) outs(%e : tensor<6x4x2xf32>) -> tensor<6x4x2xf32>
  %w = tensor.expand_shape %r [[0, 1], [2], [3]] output_shape [1, 6, 4, 2]
      : tensor<6x4x2xf32> into tensor<1x6x4x2xf32>
  %c = tensor.collapse_shape %w [[0], [1], [2, 3]] : tensor<1x6x4x2xf32> into tensor<1x6x8xf32>
  return %c : tensor<1x6x8xf32>
}

// -----

// The same with an extent that is known before the launch, and with one that is not.
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<?x4x2xf32>, %o: tensor<?x4x2xf32>):
  redfuse.yield %o : tensor<?x4x2xf32>
}
// CHECK-LABEL: func.func @open(
// CHECK-SAME:    %[[O:[^:]*]]: memref<1x?x8xf32>) {
// CHECK:         %[[T:.*]] = bufferization.to_tensor %[[O]] restrict writable
// CHECK:         %[[E:.*]] = tensor.expand_shape %[[T]]
// CHECK:         %[[C:.*]] = tensor.collapse_shape %[[E]]
// CHECK:         redfuse.launch @k ins(%{{.*}}) outs(%[[C]]
// CHECK-LABEL: func.func @late(
// CHECK:         %[[N:.*]] = tensor.empty
// CHECK:         redfuse.launch @k ins(%{{.*}}) outs(%[[N]]
func.func @open(%x: tensor<?x4x2xf32>, %n: index) -> tensor<1x?x8xf32> {
  %e = tensor.empty(%n) : tensor<?x4x2xf32>
  %r = redfuse.launch @k ins(%x : tensor<?x4x2xf32>) outs(%e : tensor<?x4x2xf32>) -> tensor<?x4x2xf32>
  %w = tensor.expand_shape %r [[0, 1], [2], [3]] output_shape [1, %n, 4, 2]
      : tensor<?x4x2xf32> into tensor<1x?x4x2xf32>
  %c = tensor.collapse_shape %w [[0], [1], [2, 3]] : tensor<1x?x4x2xf32> into tensor<1x?x8xf32>
  return %c : tensor<1x?x8xf32>
}
func.func @late(%x: tensor<?x4x2xf32>, %n: index) -> tensor<1x?x8xf32> {
  %e = tensor.empty(%n) : tensor<?x4x2xf32>
  %r = redfuse.launch @k ins(%x : tensor<?x4x2xf32>) outs(%e : tensor<?x4x2xf32>) -> tensor<?x4x2xf32>
  %same = arith.addi %n, %n : index
  %w = tensor.expand_shape %r [[0, 1], [2], [3]] output_shape [1, %same, 4, 2]
      : tensor<?x4x2xf32> into tensor<1x?x4x2xf32>
  %c = tensor.collapse_shape %w [[0], [1], [2, 3]] : tensor<1x?x4x2xf32> into tensor<1x?x8xf32>
  return %c : tensor<1x?x8xf32>
}

// -----

// Slices of a result that launches write to, one after another, are slices of the
// destination; what a slice is put into is copied there first.
// CHECK-LABEL: func.func @parts(
// CHECK-SAME:    %[[A:.*]]: tensor<4x8xf32>{{.*}}, %[[OUT:[^:]*]]: memref<8x8xf32>) {
// CHECK:         %[[O:.*]] = bufferization.to_tensor %[[OUT]] restrict writable
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[O]][0, 0]
// CHECK:         %[[P:.*]] = redfuse.launch @half ins(%[[A]] : {{.*}}) outs(%[[S]] :
// CHECK:         %[[F:.*]] = tensor.insert_slice %[[P]] into %[[O]][0, 0]
// CHECK:         tensor.extract_slice %[[F]][4, 0]
// CHECK-LABEL: func.func @into(
// CHECK-SAME:    %[[X:.*]]: tensor<8x8xf32>{{.*}}, %[[Y:.*]]: tensor<4x8xf32>{{.*}}, %[[OUT:[^:]*]]: memref<8x8xf32>) {
// CHECK:         %[[O:.*]] = bufferization.to_tensor %[[OUT]] restrict writable
// CHECK:         %[[C:.*]] = bufferization.materialize_in_destination %[[X]] in %[[O]] :
// CHECK:         tensor.insert_slice %[[Y]] into %[[C]][2, 0]
redfuse.kernel @half attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<4x8xf32>, %o: tensor<4x8xf32>):
  redfuse.yield %o : tensor<4x8xf32>
}
func.func @parts(%a: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %s = tensor.extract_slice %e[0, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %p = redfuse.launch @half ins(%a : tensor<4x8xf32>) outs(%s : tensor<4x8xf32>) -> tensor<4x8xf32>
  %f = tensor.insert_slice %p into %e[0, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %t = tensor.extract_slice %f[4, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %q = redfuse.launch @half ins(%a : tensor<4x8xf32>) outs(%t : tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = tensor.insert_slice %q into %f[4, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  return %g : tensor<8x8xf32>
}
func.func @into(%x: tensor<8x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %f = tensor.insert_slice %y into %x[2, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  return %f : tensor<8x8xf32>
}

// The same seen through a reshape.
// CHECK-LABEL: func.func @line(
// CHECK-SAME:    %[[A:.*]]: tensor<4x8xf32>{{.*}}, %[[OUT:[^:]*]]: memref<2x4x8xf32>) {
// CHECK:         %[[O:.*]] = bufferization.to_tensor %[[OUT]] restrict writable
// CHECK:         %[[V:.*]] = tensor.collapse_shape %[[O]] {{\[\[0, 1\], \[2\]\]}}
// CHECK:         tensor.extract_slice %[[V]][0, 0]
// CHECK:         tensor.insert_slice %{{.*}} into %[[V]][0, 0]
func.func @line(%a: tensor<4x8xf32>) -> tensor<2x4x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %s = tensor.extract_slice %e[0, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %p = redfuse.launch @half ins(%a : tensor<4x8xf32>) outs(%s : tensor<4x8xf32>) -> tensor<4x8xf32>
  %f = tensor.insert_slice %p into %e[0, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %t = tensor.extract_slice %f[4, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %q = redfuse.launch @half ins(%a : tensor<4x8xf32>) outs(%t : tensor<4x8xf32>) -> tensor<4x8xf32>
  %g = tensor.insert_slice %q into %f[4, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %r = tensor.expand_shape %g [[0, 1], [2]] output_shape [2, 4, 8] : tensor<8x8xf32> into tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// Two of them that begin with one tensor.empty, as CSE leaves them: each has its own.
// CHECK-LABEL: func.func @two(
// CHECK:         %[[S:.*]] = tensor.extract_slice %[[FIRST:.*]][0, 0]
// CHECK:         %[[T:.*]] = tensor.extract_slice %[[SECOND:.*]][0, 0]
// CHECK:         %[[P:.*]] = redfuse.launch @half {{.*}} outs(%[[S]] :
// CHECK:         tensor.insert_slice %[[P]] into %[[FIRST]][0, 0]
// CHECK:         %[[Q:.*]] = redfuse.launch @half {{.*}} outs(%[[T]] :
// CHECK:         tensor.insert_slice %[[Q]] into %[[SECOND]][0, 0]
func.func @two(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %s = tensor.extract_slice %e[0, 0] [4, 8] [1, 1] : tensor<8x8xf32> to tensor<4x8xf32>
  %p = redfuse.launch @half ins(%a : tensor<4x8xf32>) outs(%s : tensor<4x8xf32>) -> tensor<4x8xf32>
  %f = tensor.insert_slice %p into %e[0, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %g = tensor.insert_slice %b into %f[4, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %q = redfuse.launch @half ins(%b : tensor<4x8xf32>) outs(%s : tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = tensor.insert_slice %q into %e[0, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  %i = tensor.insert_slice %a into %h[4, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<8x8xf32>
  return %g, %i : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// A scatter writes to the destination: what it updates is copied there first, or made there.
// CHECK-LABEL: func.func @scattered(
// CHECK-SAME:    %[[X:.*]]: tensor<8x4xf32>{{.*}}, %[[OUT:[^:]*]]: memref<32xf32>) {
// CHECK:         %[[O:.*]] = bufferization.to_tensor %[[OUT]] restrict writable
// CHECK:         %[[E:.*]] = tensor.expand_shape %[[O]]
// CHECK:         %[[C:.*]] = bufferization.materialize_in_destination %[[X]] in %[[E]] :
// CHECK:         redfuse.scatter ins({{.*}}) outs(%[[C]] :
// CHECK-LABEL: func.func @filled(
// CHECK-SAME:    %[[OUT:[^:]*]]: memref<8x4xf32>) {
// CHECK:         %[[O:.*]] = bufferization.to_tensor %[[OUT]] restrict writable
// CHECK:         %[[F:.*]] = linalg.fill ins({{.*}}) outs(%[[O]] :
// CHECK:         redfuse.scatter ins({{.*}}) outs(%[[F]] :
func.func @scattered(%x: tensor<8x4xf32>, %u: tensor<3x4xf32>, %p: tensor<3xi32>) -> tensor<32xf32> {
  %s = redfuse.scatter ins(%u, %p : tensor<3x4xf32>, tensor<3xi32>)
      outs(%x : tensor<8x4xf32>) -> tensor<8x4xf32>
  %r = tensor.collapse_shape %s [[0, 1]] : tensor<8x4xf32> into tensor<32xf32>
  return %r : tensor<32xf32>
}
func.func @filled(%u: tensor<3x4xf32>, %p: tensor<3xi32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %s = redfuse.scatter ins(%u, %p : tensor<3x4xf32>, tensor<3xi32>)
      outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %s : tensor<8x4xf32>
}

// -----

// What others read through a reshape is written in place all the same.
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<8xf32>, %o: tensor<8xf32>):
  redfuse.yield %o : tensor<8xf32>
}
redfuse.kernel @l attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<2x4xf32>, %o: tensor<2x4xf32>):
  redfuse.yield %o : tensor<2x4xf32>
}
func.func @read_again(%x: tensor<8xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %r = redfuse.launch @k ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %v = tensor.expand_shape %r [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %d = tensor.empty() : tensor<2x4xf32>
  %q = redfuse.launch @l ins(%v : tensor<2x4xf32>) outs(%d : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %v, %q : tensor<2x4xf32>, tensor<2x4xf32>
}
// CHECK-LABEL: func.func @read_again(
// CHECK-SAME:    %[[A:[^:]*]]: memref<2x4xf32>, %[[B:[^:]*]]: memref<2x4xf32>)
// CHECK-DAG:     %[[T:.*]] = bufferization.to_tensor %[[A]] restrict writable
// CHECK-DAG:     %[[V:.*]] = tensor.collapse_shape %[[T]]
// CHECK:         redfuse.launch @k ins(%{{.*}}) outs(%[[V]]
