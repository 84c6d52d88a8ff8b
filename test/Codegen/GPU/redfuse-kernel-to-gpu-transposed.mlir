// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s

// A thread has 4 x 4 elements: it loads along j, of four rows, and stores along i. All loads
// come first, and nothing goes through shared memory.

// CHECK-LABEL: gpu.func @transpose_0
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK-NOT: gpu.barrier
// CHECK-COUNT-4: vector.load %{{.+}} {alignment = 16 : i64} : memref<512x256xf32>, vector<4xf32>
// CHECK-NOT: vector.load
// CHECK-COUNT-4: arith.mulf %{{.+}} : vector<4xf32>
// CHECK-NOT: memref.store
// CHECK-COUNT-4: vector.store %{{.+}} {alignment = 16 : i64} : memref<256x512xf32>, vector<4xf32>
// CHECK-NOT: vector.store
// CHECK: gpu.return
#x = affine_map<(j, i) -> (i, j)>
#y = affine_map<(j, i) -> (j, i)>
func.func @transpose(%x: memref<512x256xf32>, %out: memref<256x512xf32>) {
  redfuse.launch @transpose_0 ins(%x : memref<512x256xf32>) outs(%out : memref<256x512xf32>)
  return
}
redfuse.kernel @transpose_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<map, grid = [0, 1], tiles = [32, 128]>} {
^bb0(%x: tensor<512x256xf32>, %init: tensor<256x512xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #y]}
       ins(%x : tensor<512x256xf32>) outs(%init : tensor<256x512xf32>) {
  ^bb0(%h: f32):
    %r = arith.mulf %h, %h : f32
    redfuse.yield %r : f32
  } -> tensor<256x512xf32>
  redfuse.yield %0 : tensor<256x512xf32>
}

// -----

// What is contiguous as the result is loaded as the result is stored; a bias along the rows is
// one vector for all columns.

// CHECK-LABEL: gpu.func @both_0
// CHECK-DAG: vector.load %{{.+}} : memref<512x256xf32>, vector<4xf32>
// CHECK-DAG: vector.load %{{.+}} : memref<256x512xf32>, vector<4xf32>
// CHECK-DAG: vector.load %{{.+}} : memref<512xf32>, vector<4xf32>
// CHECK-NOT: memref.load
// CHECK-NOT: memref.store
// CHECK: gpu.return
#x = affine_map<(j, i) -> (i, j)>
#y = affine_map<(j, i) -> (j, i)>
#b = affine_map<(j, i) -> (i)>
func.func @both(%x: memref<512x256xf32>, %z: memref<256x512xf32>, %b: memref<512xf32>, %out: memref<256x512xf32>) {
  redfuse.launch @both_0 ins(%x, %z, %b : memref<512x256xf32>, memref<256x512xf32>, memref<512xf32>) outs(%out : memref<256x512xf32>)
  return
}
redfuse.kernel @both_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<map, grid = [0, 1], tiles = [32, 128]>} {
^bb0(%x: tensor<512x256xf32>, %z: tensor<256x512xf32>, %b: tensor<512xf32>, %init: tensor<256x512xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #y, #b, #y]}
       ins(%x, %z, %b : tensor<512x256xf32>, tensor<256x512xf32>, tensor<512xf32>) outs(%init : tensor<256x512xf32>) {
  ^bb0(%h: f32, %g: f32, %a: f32):
    %s = arith.addf %h, %g : f32
    %r = arith.addf %s, %a : f32
    redfuse.yield %r : f32
  } -> tensor<256x512xf32>
  redfuse.yield %0 : tensor<256x512xf32>
}

// -----

// Columns of an odd number are loaded one by one, and stored in vectors none the less.

// CHECK-LABEL: gpu.func @odd_0
// CHECK: memref.load %{{.+}} : memref<512x49xf32>
// CHECK: vector.store %{{.+}} {alignment = 16 : i64} : memref<49x512xf32>, vector<4xf32>
// CHECK-NOT: memref.store
// CHECK: gpu.return
#x = affine_map<(j, i) -> (i, j)>
#y = affine_map<(j, i) -> (j, i)>
func.func @odd(%x: memref<512x49xf32>, %out: memref<49x512xf32>) {
  redfuse.launch @odd_0 ins(%x : memref<512x49xf32>) outs(%out : memref<49x512xf32>)
  return
}
redfuse.kernel @odd_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<map, grid = [0, 1], tiles = [49, 128]>} {
^bb0(%x: tensor<512x49xf32>, %init: tensor<49x512xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #y]}
       ins(%x : tensor<512x49xf32>) outs(%init : tensor<49x512xf32>) {
  ^bb0(%h: f32):
    %r = arith.mulf %h, %h : f32
    redfuse.yield %r : f32
  } -> tensor<49x512xf32>
  redfuse.yield %0 : tensor<49x512xf32>
}
