// RUN: redfuse-opt %s -redfuse-kernel-to-cpu -split-input-file -verify-diagnostics

#x = affine_map<(i) -> (i)>
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<24xf32>, %o: tensor<24xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<24xf32>) outs(%o : tensor<24xf32>) {
  ^bb0(%a: f32):
    redfuse.yield %a : f32
  } -> tensor<24xf32>
  redfuse.yield %r : tensor<24xf32>
}
func.func @tensors(%x: tensor<24xf32>, %o: tensor<24xf32>) -> tensor<24xf32> {
  // expected-error @below {{works on tensors: bufferize first}}
  %r = redfuse.launch @k ins(%x : tensor<24xf32>) outs(%o : tensor<24xf32>) -> tensor<24xf32>
  return %r : tensor<24xf32>
}

// -----

// expected-error @below {{has no cascade, fold or finalize to generate code for}}
redfuse.kernel @nothing attributes {num_inputs = 0 : i64} {
^bb0(%o: tensor<24xf32>):
  redfuse.yield %o : tensor<24xf32>
}
func.func @main(%o: memref<24xf32>) {
  redfuse.launch @nothing outs(%o : memref<24xf32>)
  return
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
// expected-error @below {{has a split schedule without the dim of its splits}}
redfuse.kernel @partless attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<split, tiles = [0, 4], stream = [1], splits = 2>} {
^bb0(%x: tensor<2x8xf32>, %init: tensor<2xf32>):
  %0 = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>, identities = [0xFF800000 : f32]}
      ins(%x : tensor<2x8xf32>) outs(%init : tensor<2xf32>)
  step {
  ^bb0(%v: f32, %m: f32):
    %s = redfuse.reduce maximumf %v over [1] into [0] : f32
    %m1 = arith.maximumf %m, %s : f32
    redfuse.yield %m1 : f32
  } merge {
  ^bb0(%a: f32, %c: f32):
    %m1 = arith.maximumf %a, %c : f32
    redfuse.yield %m1 : f32
  } -> tensor<2xf32>
  redfuse.yield %0 : tensor<2xf32>
}
func.func @main(%x: memref<2x8xf32>, %o: memref<2xf32>) {
  redfuse.launch @partless ins(%x : memref<2x8xf32>) outs(%o : memref<2xf32>)
  return
}
