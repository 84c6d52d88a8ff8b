// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-kernel-to-gpu | FileCheck %s

// Clusters of two blocks with neighbouring tiles of rows: each copies half of the columns' tile
// for both.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// CHECK-LABEL: func.func @product
// Clusters are as many as have a place.
// CHECK: %[[CLUSTERS:.*]] = arith.minui %{{.*}}, %c66
// CHECK: %[[BLOCKS:.*]] = arith.muli %[[CLUSTERS]], %c2
// Boxes of the left operand are whole tiles, those of the right one half.
// CHECK: gpu.launch_func @redfuse_gpu::@product_0 blocks in (%[[BLOCKS]],
// CHECK-LABEL: gpu.func @product_0
// CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
// CHECK: %[[RANK:.*]] = arith.andi %{{.*}}, %c1
// A stage is free when the consumers of both blocks are done with it.
// CHECK: tile.init_barrier %{{.*}} arrivals 1
// CHECK: tile.init_barrier %{{.*}} arrivals 16
// No block is copied for before its barriers are there.
// CHECK: barrier.cluster.arrive.relaxed
// CHECK: barrier.cluster.wait.acquire
// CHECK: tile.copy {{.*}} row %{{.*}} multicast %{{.*}} signal
// CHECK: tile.copy %{{[^m]*}} signal
// CHECK: tile.multiply
// CHECK: tile.arrive %{{.*}} lane %{{.*}} rank %[[RANK]] blocks 2
func.func @product(%a: memref<4096x4096xf16>, %b: memref<4096x4096xf16>, %out: memref<4096x4096xf32>) {
  redfuse.launch @product_0 ins(%a, %b : memref<4096x4096xf16>, memref<4096x4096xf16>) outs(%out : memref<4096x4096xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 256, 0], consumers = 2, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 4, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0, cluster_shape = [2, 1]>}
  return
}
redfuse.kernel @product_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [64, 64, 0]>} {
^bb0(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>, %init: tensor<4096x4096xf32>):
  %0 = redfuse.cascade {indexing_maps = [#a, #b, #c]}
       ins(%a, %b : tensor<4096x4096xf16>, tensor<4096x4096xf16>) outs(%init : tensor<4096x4096xf32>) {
  ^bb0(%x: f16, %y: f16):
    %u = arith.extf %x : f16 to f32
    %w = arith.extf %y : f16 to f32
    %uw = arith.mulf %u, %w : f32
    %s = redfuse.reduce add %uw over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  redfuse.yield %0 : tensor<4096x4096xf32>
}
