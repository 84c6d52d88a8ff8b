// RUN: redfuse-opt %s -redfuse-kernel-to-cpu=vector-bits=512 -canonicalize -cse -split-input-file | FileCheck %s

// A scan walks its dim in order; rows share a vector register. A declared reducer that is not ordered has
// several accumulators.

#ji = affine_map<(i, j) -> (j, i)>
#ii = affine_map<(i, j) -> (i)>
redfuse.kernel @scan attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [16, 0]>} {
^bb0(%x: tensor<100x32xf32>, %o: tensor<100x32xf32>, %s: tensor<32xf32>):
  %r:2 = redfuse.cascade {indexing_maps = [#ji, #ji, #ii]} ins(%x : tensor<100x32xf32>)
      outs(%o, %s : tensor<100x32xf32>, tensor<32xf32>) {
  ^bb0(%a: f32):
    %c = redfuse.scan add %a along 1 : f32
    %t = redfuse.reduce declared %a over [1] into [0] {identities = [1.0 : f32]} : f32 combine {
    ^bb0(%l: f32, %q: f32):
      %m = arith.mulf %l, %q : f32
      redfuse.yield %m : f32
    }
    redfuse.yield %c, %t : f32, f32
  } -> tensor<100x32xf32>, tensor<32xf32>
  redfuse.yield %r#0, %r#1 : tensor<100x32xf32>, tensor<32xf32>
}
func.func @main(%x: memref<100x32xf32>, %o: memref<100x32xf32>, %s: memref<32xf32>) {
  redfuse.launch @scan ins(%x : memref<100x32xf32>) outs(%o, %s : memref<100x32xf32>, memref<32xf32>)
  return
}
// CHECK-LABEL: func.func private @scan
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:           arith.mulf {{.*}} : vector<16xf32>
// CHECK:         scf.for {{.*}} iter_args(%[[STATE:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK:           %[[X:.*]] = vector.load
// CHECK:           %[[N:.*]] = arith.addf %[[STATE]], %[[X]] : vector<16xf32>
// CHECK:           vector.store %[[N]]
// CHECK:           scf.yield %[[N]]

// -----

// An ordered step continues from the state: one accumulator, which starts there.

#ji = affine_map<(i, j) -> (j, i)>
#ii = affine_map<(i, j) -> (i)>
redfuse.kernel @ordered attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 8], stream = [1]>} {
^bb0(%x: tensor<100x32xf32>, %o: tensor<32xf32>):
  %e = tensor.empty() : tensor<32xf32>
  %s = redfuse.fold {indexing_maps = [#ji, #ii], over = array<i64: 1>, identities = [1.0 : f32],
           certificate = {ordered = ["t0"]}}
         ins(%x : tensor<100x32xf32>) outs(%e : tensor<32xf32>)
  step {
  ^bb0(%v: f32, %t: f32):
    %g = redfuse.reduce declared %v over [1] into [0] {identities = [1.0 : f32], ordered} : f32 combine {
    ^bb0(%l: f32, %q: f32):
      %m = arith.mulf %l, %q : f32
      redfuse.yield %m : f32
    }
    %n = redfuse.combine %t, %g {identities = [1.0 : f32], ordered} : (f32, f32) -> f32 {
    ^bb0(%l: f32, %q: f32):
      %m = arith.mulf %l, %q : f32
      redfuse.yield %m : f32
    }
    redfuse.yield %n : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    redfuse.yield %m : f32
  } -> tensor<32xf32>
  %r = redfuse.finalize {indexing_maps = [#ii, #ii]} ins(%s : tensor<32xf32>) outs(%o : tensor<32xf32>) {
  ^bb0(%a: f32):
    redfuse.yield %a : f32
  } -> tensor<32xf32>
  redfuse.yield %r : tensor<32xf32>
}
func.func @main(%x: memref<100x32xf32>, %o: memref<32xf32>) {
  redfuse.launch @ordered ins(%x : memref<100x32xf32>) outs(%o : memref<32xf32>)
  return
}
// CHECK-LABEL: func.func private @ordered
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             %[[T:.*]] = vector.load
// CHECK:             scf.for {{.*}} iter_args(%[[A:.*]] = %[[T]]) -> (vector<16xf32>)
// CHECK:               %[[X:.*]] = vector.load
// CHECK:               arith.mulf %[[A]], %[[X]] : vector<16xf32>

// -----

// Two sorted lists are walked by a position each.

#j = affine_map<(i, j, r) -> (i, j)>
#r = affine_map<(i, j, r) -> (i, r)>
redfuse.kernel @lists attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [2, 8, 0], stream = [1]>} {
^bb0(%x: tensor<6x100xf32>, %o: tensor<6x4xf32>, %p: tensor<6x4xi64>):
  %e = tensor.empty() : tensor<6x4xf32>
  %f = tensor.empty() : tensor<6x4xi64>
  %s:2 = redfuse.fold {indexing_maps = [#j, #r, #r], over = array<i64: 1>, identities = [0xFF800000 : f32, -1 : i64]}
         ins(%x : tensor<6x100xf32>) outs(%e, %f : tensor<6x4xf32>, tensor<6x4xi64>)
  step {
  ^bb0(%v: f32, %t: f32, %k: i64):
    %j = redfuse.index 1
    %i = arith.index_cast %j : index to i64
    %g:2 = redfuse.reduce topk %v, %i over [1] into [0, 2] : f32, i64
    %n, %m = redfuse.merge_topk %t, %k, %g#0, %g#1 along 2 : f32, i64
    redfuse.yield %n, %m : f32, i64
  } merge {
  ^bb0(%a: f32, %b: i64, %c: f32, %d: i64):
    %n, %m = redfuse.merge_topk %a, %b, %c, %d along 2 : f32, i64
    redfuse.yield %n, %m : f32, i64
  } -> tensor<6x4xf32>, tensor<6x4xi64>
  %r:2 = redfuse.finalize {indexing_maps = [#r, #r, #r, #r]} ins(%s#0, %s#1 : tensor<6x4xf32>, tensor<6x4xi64>)
      outs(%o, %p : tensor<6x4xf32>, tensor<6x4xi64>) {
  ^bb0(%a: f32, %b: i64):
    redfuse.yield %a, %b : f32, i64
  } -> tensor<6x4xf32>, tensor<6x4xi64>
  redfuse.yield %r#0, %r#1 : tensor<6x4xf32>, tensor<6x4xi64>
}
func.func @main(%x: memref<6x100xf32>, %o: memref<6x4xf32>, %p: memref<6x4xi64>) {
  redfuse.launch @lists ins(%x : memref<6x100xf32>) outs(%o, %p : memref<6x4xf32>, memref<6x4xi64>)
  return
}
// CHECK-LABEL: func.func private @lists
// CHECK:         scf.while
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[P:.*]] = %{{.*}}, %[[Q:.*]] = %{{.*}}) -> (index, index)
// CHECK:           memref.load %{{.*}}[%{{.*}}, %[[P]]] : memref<2x4xf32>
// CHECK:           memref.load %{{.*}}[%{{.*}}, %[[P]]] : memref<2x4xi64>
// CHECK:           memref.load %{{.*}}[%{{.*}}, %[[Q]]] : memref<2x4xf32>
// CHECK:           memref.load %{{.*}}[%{{.*}}, %[[Q]]] : memref<2x4xi64>
// CHECK:           arith.cmpf ugt
// CHECK:           arith.select
// CHECK:           scf.yield

// -----

// What a reducer does for its identity concerns the first step alone: the others do not ask, and the
// factors before them are not needed.

#ji = affine_map<(i, j) -> (j, i)>
redfuse.kernel @affine attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [16, 0]>} {
^bb0(%x: tensor<100x32xf32>, %y: tensor<100x32xf32>, %o: tensor<100x32xf32>):
  %r = redfuse.cascade {indexing_maps = [#ji, #ji, #ji]} ins(%x, %y : tensor<100x32xf32>, tensor<100x32xf32>)
      outs(%o : tensor<100x32xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c:2 = redfuse.scan declared %a, %b along 1 {identities = [1.0 : f32, 0.0 : f32], ordered} : f32, f32 combine {
    ^bb0(%l0: f32, %l1: f32, %r0: f32, %r1: f32):
      %one = arith.constant 1.0 : f32
      %none = arith.cmpf oeq, %l0, %one : f32
      %m = arith.mulf %l0, %r0 : f32
      %k = arith.mulf %r0, %l1 : f32
      %s = arith.addf %k, %r1 : f32
      %t = arith.select %none, %r1, %s {redfuse.identity} : f32
      redfuse.yield %m, %t : f32, f32
    }
    redfuse.yield %c#1 : f32
  } -> tensor<100x32xf32>
  redfuse.yield %r : tensor<100x32xf32>
}
func.func @main(%x: memref<100x32xf32>, %y: memref<100x32xf32>, %o: memref<100x32xf32>) {
  redfuse.launch @affine ins(%x, %y : memref<100x32xf32>, memref<100x32xf32>) outs(%o : memref<100x32xf32>)
  return
}
// CHECK-LABEL: func.func private @affine
// CHECK:         arith.select
// CHECK:         scf.for %{{.*}} = %c1{{.*}} to %c100
// CHECK-NOT:       arith.select
// CHECK:         return
