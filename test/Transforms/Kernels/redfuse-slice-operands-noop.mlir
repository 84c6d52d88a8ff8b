// RUN: redfuse-opt %s -redfuse-slice-operands=least-alike=3 | FileCheck %s

// Where an argument is read at two positions, or by fewer
// kernels than three, nothing changes.

// CHECK-LABEL: func.func @steps
// CHECK-NOT:     memref.subview
#r = affine_map<(i, j) -> (i)>
func.func @steps(%x: memref<4x8x16xf32>, %out: memref<8xf32>) {
  redfuse.launch @both0 ins(%x : memref<4x8x16xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @both1 ins(%x : memref<4x8x16xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @both2 ins(%x : memref<4x8x16xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @few0 ins(%x : memref<4x8x16xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @few1 ins(%x : memref<4x8x16xf32>) outs(%out : memref<8xf32>)
  return
}
redfuse.kernel @both0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<4x8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (0, i, j)>, affine_map<(i, j) -> (3, i, j)>, #r]}
       ins(%x, %x : tensor<4x8x16xf32>, tensor<4x8x16xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32, %f: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
redfuse.kernel @both1 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<4x8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (1, i, j)>, affine_map<(i, j) -> (3, i, j)>, #r]}
       ins(%x, %x : tensor<4x8x16xf32>, tensor<4x8x16xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32, %f: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
redfuse.kernel @both2 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<4x8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (2, i, j)>, affine_map<(i, j) -> (3, i, j)>, #r]}
       ins(%x, %x : tensor<4x8x16xf32>, tensor<4x8x16xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32, %f: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
redfuse.kernel @few0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<4x8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (0, i, j)>, #r]}
       ins(%x : tensor<4x8x16xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
redfuse.kernel @few1 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<4x8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (1, i, j)>, #r]}
       ins(%x : tensor<4x8x16xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
