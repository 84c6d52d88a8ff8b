// RUN: redfuse-opt %s -redfuse-predict-times | FileCheck %s
// CHECK-NOT: redfuse.predicted

#x = affine_map<(i, j) -> (i, j)>
#y = affine_map<(i, j) -> (i)>

// Without a chip nothing is said.
func.func @rows(%x: memref<64x256xf32>, %y: memref<64xf32>) {
  redfuse.launch @rows_0 ins(%x : memref<64x256xf32>) outs(%y : memref<64xf32>)
  return
}
redfuse.kernel @rows_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [2, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #y]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%v: f32):
    %s = redfuse.reduce add %v over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}
