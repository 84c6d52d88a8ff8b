// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-nest-reductions > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i, j) -> (i, j)>
#s = affine_map<(i, j) -> ()>

// Reductions over the same dims, or of what needs none of fewer; and of several
// values.
func.func @same(%x: tensor<6x20xf32>, %d: tensor<f32>, %p: tensor<index>) -> (tensor<f32>, tensor<f32>, tensor<index>) {
  %r:3 = redfuse.cascade {indexing_maps = [#x, #s, #s, #s]} ins(%x : tensor<6x20xf32>) outs(%d, %d, %p : tensor<f32>, tensor<f32>, tensor<index>) {
  ^bb0(%a: f32):
    %m = redfuse.reduce maximumf %a over [0, 1] into [] : f32
    %e = arith.subf %a, %m : f32
    %s = redfuse.reduce add %e over [0, 1] into [] : f32
    %row = redfuse.reduce add %a over [1] into [0] : f32
    %f = arith.subf %a, %row : f32
    %i = redfuse.index 0
    %v, %at = redfuse.reduce argmax %f, %i over [0, 1] into [] : f32, index
    %t = redfuse.reduce add %row over [0] into [] : f32
    %u = arith.addf %s, %t : f32
    redfuse.yield %u, %v, %at : f32, f32, index
  } -> tensor<f32>, tensor<f32>, tensor<index>
  return %r#0, %r#1, %r#2 : tensor<f32>, tensor<f32>, tensor<index>
}
