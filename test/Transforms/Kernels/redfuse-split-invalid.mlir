// RUN: not redfuse-opt %s -redfuse-split 2>&1 | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// CHECK: error: 'redfuse.kernel' op has a split schedule, but no fold that is finalised
redfuse.kernel @k attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<split, grid = [0], tiles = [8, 16], stream = [1], splits = 4>} {
^bb0(%x: tensor<64x80xf32>, %init: tensor<64xf32>):
  %e = tensor.empty() : tensor<64xf32>
  %s = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<64x80xf32>) outs(%init : tensor<64xf32>)
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
  redfuse.yield %s : tensor<64xf32>
}
func.func @one(%x: tensor<64x80xf32>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %r = redfuse.launch @k ins(%x : tensor<64x80xf32>) outs(%o : tensor<64xf32>) -> tensor<64xf32>
  return %r : tensor<64xf32>
}
