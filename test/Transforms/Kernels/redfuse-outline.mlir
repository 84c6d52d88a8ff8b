// RUN: redfuse-opt %s -redfuse-outline -split-input-file | FileCheck %s

// A cascade becomes a kernel of its own; a constant of its body moves in, a scalar
// from outside becomes an argument. Two results that start from the same empty
// tensor have destinations of their own.

#x = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<4x8xf32>, %s: f32) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %r:2 = redfuse.cascade {indexing_maps = [#x, #x, #x]} ins(%x : tensor<4x8xf32>)
      outs(%e, %e : tensor<4x8xf32>, tensor<4x8xf32>) {
  ^bb0(%a: f32):
    %p = arith.mulf %a, %c : f32
    %q = arith.mulf %a, %s : f32
    redfuse.yield %p, %q : f32, f32
  } -> tensor<4x8xf32>, tensor<4x8xf32>
  return %r#0, %r#1 : tensor<4x8xf32>, tensor<4x8xf32>
}
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>, %[[S:.*]]: f32
// CHECK:         redfuse.launch @main_0 ins(%[[X]], %[[S]] : tensor<4x8xf32>, f32)
// CHECK:       redfuse.kernel @main_0
// CHECK-SAME:    num_inputs = 2
// CHECK:       ^bb0(%[[A:.*]]: tensor<4x8xf32>, %{{.*}}: f32, %[[D0:.*]]: tensor<4x8xf32>, %[[D1:.*]]: tensor<4x8xf32>):
// CHECK:         arith.constant 2.000000e+00
// CHECK:         redfuse.cascade {{.*}} ins(%[[A]] : {{.*}}) outs(%[[D0]], %[[D1]] :

// -----

// A fold and what finalises it are one kernel, and the state is made inside.

#y = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @fold(%x: tensor<6x1000xf32>) -> tensor<6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %s = redfuse.fold {indexing_maps = [#y, #r], over = array<i64: 1>, identities = [0.0 : f32],
      schedule = #redfuse.schedule<stream, grid = [0], tiles = [2, 128], stream = [1]>}
      ins(%x : tensor<6x1000xf32>) outs(%f : tensor<6xf32>) step {
  ^bb0(%a: f32, %l: f32):
    %p = redfuse.reduce add %a over [1] into [0] : f32
    %n = arith.addf %l, %p : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    redfuse.yield %n : f32
  } -> tensor<6xf32>
  %o = redfuse.finalize {indexing_maps = [#r, #r]} ins(%s : tensor<6xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: f32):
    %n = math.sqrt %a : f32
    redfuse.yield %n : f32
  } -> tensor<6xf32>
  return %o : tensor<6xf32>
}
// CHECK-LABEL: func.func @fold
// CHECK:         redfuse.launch @fold_0
// CHECK:       redfuse.kernel @fold_0
// CHECK-SAME:    #redfuse.schedule<stream
// CHECK:         %[[STATE:.*]] = tensor.empty
// CHECK:         redfuse.fold {{.*}} outs(%[[STATE]]
// CHECK:         redfuse.finalize

// -----

// All that the fold gives was written on the way; what takes no state of it is a
// kernel of its own.

#y = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @outputs(%x: tensor<6x1000xf32>) -> (tensor<6x1000xf32>, tensor<6xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6xf32>
  %w = tensor.empty() : tensor<6x1000xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %s:2 = redfuse.fold {indexing_maps = [#y, #r, #y], over = array<i64: 1>, identities = [0.0 : f32],
      schedule = #redfuse.schedule<stream, grid = [0], tiles = [2, 128], stream = [1]>}
      ins(%x : tensor<6x1000xf32>) outs(%f, %w : tensor<6xf32>, tensor<6x1000xf32>) step {
  ^bb0(%a: f32, %l: f32):
    %q = redfuse.scan add %a along 1 : f32
    %o = arith.addf %q, %l : f32
    %p = redfuse.reduce add %a over [1] into [0] : f32
    %n = arith.addf %l, %p : f32
    redfuse.yield %n, %o : f32, f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    redfuse.yield %n : f32
  } -> tensor<6xf32>, tensor<6x1000xf32>
  %o = redfuse.finalize {indexing_maps = [#y, #r]} ins(%x : tensor<6x1000xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: f32):
    %n = redfuse.reduce maximumf %a over [1] into [0] : f32
    redfuse.yield %n : f32
  } -> tensor<6xf32>
  return %s#1, %o : tensor<6x1000xf32>, tensor<6xf32>
}
// CHECK-LABEL: func.func @outputs
// CHECK:         redfuse.launch @outputs_0
// CHECK:         redfuse.launch @outputs_1
// CHECK:       redfuse.kernel @outputs_0
// CHECK:         redfuse.fold
// CHECK-NOT:     redfuse.finalize
// CHECK:       redfuse.kernel @outputs_1
// CHECK-NOT:     redfuse.fold
// CHECK:         redfuse.finalize

// -----

// A launch of what is checked stays, whoever reads its results.
// CHECK-LABEL: func.func @checked
// CHECK:         redfuse.launch @checked_0 {{.*}} {redfuse.asserts}
func.func @checked(%x: tensor<6xf32>, %c: i1) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %r = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%x : tensor<6xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: f32):
    cf.assert %c, "checked"
    redfuse.yield %a : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}
