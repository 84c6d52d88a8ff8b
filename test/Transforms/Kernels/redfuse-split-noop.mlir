// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-split > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Other schedules stay as they are.
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [8, 0]>} {
^bb0(%x: tensor<64x80xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%v: f32):
    %s = redfuse.reduce add %v over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}
func.func @one(%x: tensor<64x80xf32>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %r = redfuse.launch @k ins(%x : tensor<64x80xf32>) outs(%o : tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// What merges in its launch.
redfuse.kernel @whole attributes {num_inputs = 1 : i64, redfuse.merges_in_launch,
    schedule = #redfuse.schedule<split, grid = [0], tiles = [8, 16], stream = [1], splits = 2>} {
^bb0(%x: tensor<64x80xf32>, %init: tensor<64xf32>):
  %e = tensor.empty() : tensor<64xf32>
  %s = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<64x80xf32>) outs(%e : tensor<64xf32>)
  step {
  ^bb0(%v: f32, %t: f32):
    %a = redfuse.reduce add %v over [1] into [0] : f32
    %n = arith.addf %t, %a : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    redfuse.yield %n : f32
  } -> tensor<64xf32>
  %r = redfuse.finalize {indexing_maps = [#r, #r]} ins(%s : tensor<64xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%t: f32):
    %q = math.sqrt %t : f32
    redfuse.yield %q : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}
func.func @whole_of(%x: memref<64x80xf32>, %o: memref<64xf32>) {
  redfuse.launch @whole ins(%x : memref<64x80xf32>) outs(%o : memref<64xf32>)
  return
}

// What was split before: its blocks have a split each already.
#xs = affine_map<(i, j, s) -> (i, j)>
#rs = affine_map<(i, j, s) -> (i)>
#srs = affine_map<(i, j, s) -> (s, i)>
redfuse.kernel @states attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<split, grid = [0, 2], tiles = [8, 16, 1], stream = [1], splits = 2>} {
^bb0(%x: tensor<64x80xf32>, %init: tensor<2x64xf32>):
  %e = tensor.empty() : tensor<64xf32>
  %s = redfuse.fold {indexing_maps = [#xs, #rs], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<64x80xf32>) outs(%e : tensor<64xf32>)
  step {
  ^bb0(%v: f32, %t: f32):
    %a = redfuse.reduce add %v over [1] into [0] : f32
    %n = arith.addf %t, %a : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    redfuse.yield %n : f32
  } -> tensor<64xf32>
  %r = redfuse.finalize {indexing_maps = [#rs, #srs]} ins(%s : tensor<64xf32>) outs(%init : tensor<2x64xf32>) {
  ^bb0(%t: f32):
    redfuse.yield %t : f32
  } -> tensor<2x64xf32>
  redfuse.yield %r : tensor<2x64xf32>
}
func.func @states_of(%x: memref<64x80xf32>, %o: memref<2x64xf32>) {
  redfuse.launch @states ins(%x : memref<64x80xf32>) outs(%o : memref<2x64xf32>)
  return
}
