// RUN: redfuse-opt %s -redfuse-kernel-to-cpu=vector-bits=128 -canonicalize -cse | FileCheck %s
// RUN: redfuse-opt %s "-redfuse-kernel-to-cpu=vector-bits=128 strict" -canonicalize -cse | FileCheck %s --check-prefix=STRICT

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Elements behind the diagonal, and those 300 before it, are left out of the sum of exponentials: tiles
// that have no other are not walked, and in those of which no row leaves out any the mask is not
// looked at.
// CHECK-LABEL: func.func private @window
// CHECK:         scf.for %[[BLOCK:.*]] = %arg0 to %arg1
// CHECK:           %[[I:.*]] = arith.muli %[[BLOCK]], %c8
// CHECK:           %[[BEHIND:.*]] = arith.addi %[[I]], %c8
// CHECK:           %[[END:.*]] = arith.minsi %[[BEHIND]], %c1024
// CHECK:           scf.for %{{.*}} = %[[BEGIN:.*]] to %[[WHOLE:.*]] step %c16
// CHECK:             arith.select
// CHECK:           scf.for %{{.*}} = %[[WHOLE]] to %[[LAST:.*]] step %c16
// CHECK-NOT:         arith.select
// CHECK:           scf.for %{{.*}} = %[[LAST]] to %[[END]] step %c16
// CHECK:             arith.select

// STRICT-LABEL: func.func private @window
// STRICT:         scf.for %{{.*}} = %c0 to %c1024 step %c16
// STRICT-NOT:     step %c16
redfuse.kernel @window attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [8, 16], stream = [1]>} {
^bb0(%x: tensor<1024x1024xf32>, %o: tensor<1024xf32>):
  %none = arith.constant 0xFF800000 : f32
  %far = arith.constant -300 : index
  %e = tensor.empty() : tensor<1024xf32>
  %s = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<1024x1024xf32>) outs(%e : tensor<1024xf32>) step {
  ^bb0(%a: f32, %l: f32):
    %i = redfuse.index 0
    %j = redfuse.index 1
    %c = arith.cmpi sle, %j, %i : index
    %d = arith.subi %j, %i : index
    %n = arith.cmpi sgt, %d, %far : index
    %both = arith.andi %c, %n : i1
    %v = arith.select %both, %a, %none : f32
    %p = math.exp %v : f32
    %q = redfuse.reduce add %p over [1] into [0] : f32
    %t = arith.addf %l, %q : f32
    redfuse.yield %t : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    redfuse.yield %n : f32
  } -> tensor<1024xf32>
  %r = redfuse.finalize {indexing_maps = [#r, #r]} ins(%s : tensor<1024xf32>) outs(%o : tensor<1024xf32>) {
  ^bb0(%a: f32):
    redfuse.yield %a : f32
  } -> tensor<1024xf32>
  redfuse.yield %r : tensor<1024xf32>
}
func.func @main(%x: memref<1024x1024xf32>, %o: memref<1024xf32>) {
  redfuse.launch @window ins(%x : memref<1024x1024xf32>) outs(%o : memref<1024xf32>)
  return
}
