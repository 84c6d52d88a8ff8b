// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-drop-unused-results > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// All results are read; the only one that tells how long j is; none at all is read.
func.func @whole(%x: tensor<4x8xf32>, %v: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x8xf32>, tensor<4xf32>) {
  %d = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %0:2 = redfuse.cascade {indexing_maps = [#x, #r, #x]} ins(%x : tensor<4x8xf32>) outs(%d, %e : tensor<4xf32>, tensor<4x8xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce add %a over [1] into [0] : f32
    %s = redfuse.scan add %a along 1 : f32
    redfuse.yield %t, %s : f32, f32
  } -> tensor<4xf32>, tensor<4x8xf32>
  %1:2 = redfuse.cascade {indexing_maps = [#r, #r, #x]} ins(%v : tensor<4xf32>) outs(%d, %e : tensor<4xf32>, tensor<4x8xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %t, %a : f32, f32
  } -> tensor<4xf32>, tensor<4x8xf32>
  %2:2 = redfuse.cascade {indexing_maps = [#x, #r, #x]} ins(%x : tensor<4x8xf32>) outs(%d, %e : tensor<4xf32>, tensor<4x8xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %t, %a : f32, f32
  } -> tensor<4xf32>, tensor<4x8xf32>
  return %0#0, %0#1, %1#0 : tensor<4xf32>, tensor<4x8xf32>, tensor<4xf32>
}
