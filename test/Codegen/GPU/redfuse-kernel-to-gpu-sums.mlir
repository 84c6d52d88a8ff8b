// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90 -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s

// The first summand of a thread is its sum as it is, and a further product is added by one
// instruction with one rounding.

// CHECK-LABEL: gpu.func @squares_0
// CHECK: %[[A:.+]] = vector.load %{{.+}} : memref<64x256xf32>, vector<4xf32>
// CHECK: %[[B:.+]] = vector.load %{{.+}} : memref<64x256xf32>, vector<4xf32>
// CHECK: %[[FIRST:.+]] = arith.mulf %[[A]], %[[A]] : vector<4xf32>
// CHECK-NOT: arith.addf {{.+}} : vector<4xf32>
// CHECK: math.fma %[[B]], %[[B]], %[[FIRST]] : vector<4xf32>
// CHECK-NOT: arith.addf {{.+}} : vector<4xf32>
// CHECK: gpu.shuffle
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @squares(%x: memref<64x256xf32>, %out: memref<64xf32>) {
  redfuse.launch @squares_0 ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>)
  return
}
redfuse.kernel @squares_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]}
       ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%v: f32):
    %p = arith.mulf %v, %v : f32
    %s = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %0 : tensor<64xf32>
}

// -----

// A product that something else needs, too, is computed once.

// CHECK-LABEL: gpu.func @both_0
// CHECK-NOT: math.fma
// CHECK: gpu.return
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @both(%x: memref<64x256xf32>, %out: memref<64xf32>, %most: memref<64xf32>) {
  redfuse.launch @both_0 ins(%x : memref<64x256xf32>)
                         outs(%out, %most : memref<64xf32>, memref<64xf32>)
  return
}
redfuse.kernel @both_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>, %init2: tensor<64xf32>):
  %0:2 = redfuse.cascade {indexing_maps = [#x, #r, #r]}
       ins(%x : tensor<64x256xf32>) outs(%init, %init2 : tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%v: f32):
    %p = arith.mulf %v, %v : f32
    %m = redfuse.reduce maximumf %p over [1] into [0] : f32
    %s = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %s, %m : f32, f32
  } -> tensor<64xf32>, tensor<64xf32>
  redfuse.yield %0#0, %0#1 : tensor<64xf32>, tensor<64xf32>
}
