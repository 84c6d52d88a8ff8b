// RUN: redfuse-opt %s -redfuse-share-kernels | FileCheck %s

// What two launches do is the same, but for names and places in the source: one kernel is left.
// Another length, other tiles, another reduction, another layout of the buffer, or one buffer for
// two arguments: another kernel.

// CHECK-LABEL: func.func @layers
// CHECK: redfuse.launch @first ins(%{{.+}} : memref<8x16xf32>) outs(%{{.+}} : memref<8xf32>){{$}}
// CHECK: redfuse.launch @first
// CHECK-SAME: {redfuse.instead_of = "second"}
// CHECK: redfuse.launch @longer ins
// CHECK: redfuse.launch @other_tiles ins
// CHECK: redfuse.launch @minimum ins
// CHECK: redfuse.launch @other_layout ins
// CHECK: redfuse.launch @two ins
// CHECK: redfuse.launch @one_for_two ins
// CHECK: redfuse.kernel @first
// CHECK-NOT: redfuse.kernel @second
// CHECK: redfuse.kernel @longer
// CHECK: redfuse.kernel @other_tiles
// CHECK: redfuse.kernel @minimum
// CHECK: redfuse.kernel @other_layout
// CHECK: redfuse.kernel @two
// CHECK: redfuse.kernel @one_for_two
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @layers(%x: memref<8x16xf32>, %y: memref<8x16xf32>, %z: memref<8x32xf32>,
                  %s: memref<8x16xf32, strided<[32, 1]>>, %out: memref<8xf32>) {
  redfuse.launch @first ins(%x : memref<8x16xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @second ins(%y : memref<8x16xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @longer ins(%z : memref<8x32xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @other_tiles ins(%x : memref<8x16xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @minimum ins(%x : memref<8x16xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @other_layout ins(%s : memref<8x16xf32, strided<[32, 1]>>) outs(%out : memref<8xf32>)
  redfuse.launch @two ins(%x, %y : memref<8x16xf32>, memref<8x16xf32>) outs(%out : memref<8xf32>)
  redfuse.launch @one_for_two ins(%x, %x : memref<8x16xf32>, memref<8x16xf32>) outs(%out : memref<8xf32>)
  return
}
redfuse.kernel @first attributes {num_inputs = 1 : i64, info = {source = "a:1:1"},
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x16xf32>)
       outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
redfuse.kernel @second attributes {num_inputs = 1 : i64, info = {source = "a:9:1"},
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x16xf32>)
       outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
redfuse.kernel @longer attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<8x32xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x32xf32>)
       outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
redfuse.kernel @other_tiles attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [2, 0]>} {
^bb0(%x: tensor<8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x16xf32>)
       outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
redfuse.kernel @minimum attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x16xf32>)
       outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32):
    %m = redfuse.reduce minimumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
redfuse.kernel @other_layout attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x16xf32>)
       outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
redfuse.kernel @two attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #x, #r]} ins(%x, %y : tensor<8x16xf32>, tensor<8x16xf32>)
       outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32, %g: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
redfuse.kernel @one_for_two attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #x, #r]} ins(%x, %y : tensor<8x16xf32>, tensor<8x16xf32>)
       outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32, %g: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
