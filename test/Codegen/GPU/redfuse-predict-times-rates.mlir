// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-predict-times -split-input-file | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#y = affine_map<(i, j) -> (i)>

// What was measured: a launch of 1 us, and 1000 GB/s for 4 MiB; twice as long from tiles in memory.
// CHECK-LABEL: func.func @rows
// CHECK: redfuse.predicted = #redfuse.predicted_time<total = {{[1-9][0-9]+}}, launch = 1000, memory = 8421, matrix = 0, vector = {{[1-9][0-9]*}}, blocks = 512>
module attributes {redfuse.rates = #redfuse.rates<launch = 1000, round = 500, memory = 1000, vector = 10000, matrix = 100000>} {
func.func @rows(%x: memref<4096x256xf32>, %y: memref<4096xf32>) {
  redfuse.launch @rows_0 ins(%x : memref<4096x256xf32>) outs(%y : memref<4096xf32>)
  return
}
redfuse.kernel @rows_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [8, 0]>} {
^bb0(%x: tensor<4096x256xf32>, %init: tensor<4096xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #y]} ins(%x : tensor<4096x256xf32>) outs(%init : tensor<4096xf32>) {
  ^bb0(%v: f32):
    %s = redfuse.reduce add %v over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<4096xf32>
  redfuse.yield %r : tensor<4096xf32>
}
}
