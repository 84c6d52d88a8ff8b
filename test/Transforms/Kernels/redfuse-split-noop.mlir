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
