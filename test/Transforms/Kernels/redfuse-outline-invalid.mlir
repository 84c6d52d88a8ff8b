// RUN: redfuse-opt %s -redfuse-outline -verify-diagnostics

#y = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @state(%x: tensor<6x1000xf32>, %f: tensor<6xf32>) -> tensor<6xf32> {
  // expected-error @below {{its state is used by more than redfuse.finalize}}
  %s = redfuse.fold {indexing_maps = [#y, #r], over = array<i64: 1>, identities = [0.0 : f32]}
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
  return %s : tensor<6xf32>
}
