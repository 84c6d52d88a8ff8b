// RUN: redfuse-opt %s -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s

// A row a block: its threads are one team, merge by shuffles and, across warps,
// through shared memory; one of them stores.

// CHECK-LABEL: func.func @row_sum
// CHECK: %[[BLOCKS:.+]] = arith.constant 64
// CHECK: gpu.launch_func @redfuse_gpu::@row_sum_0 blocks in (%{{.+}}, %{{.+}}, %{{.+}}) threads in
// CHECK-SAME: dynamic_shared_memory_size
// CHECK-LABEL: gpu.func @row_sum_0
// CHECK-SAME: kernel
// CHECK: vector.load %{{.+}} {alignment = 16 : i64} : memref<64x262144xf32>, vector<4xf32>
// CHECK: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: memref.store {{.+}} : memref<?xi32, #gpu.address_space<workgroup>>
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: memref.store {{.+}} #gpu.address_space<workgroup>>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @row_sum(%x: memref<64x262144xf32>, %out: memref<64xf32>) {
  redfuse.launch @row_sum_0 ins(%x : memref<64x262144xf32>) outs(%out : memref<64xf32>)
  return
}
redfuse.kernel @row_sum_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x262144xf32>, %init: tensor<64xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]}
       ins(%x : tensor<64x262144xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %0 : tensor<64xf32>
}

// -----

// A dynamic extent: nothing is known to be aligned, so threads take an element
// each; the tile of the row is in a workspace that the host allocates.

// CHECK-LABEL: func.func @dynamic
// CHECK: memref.dim
// CHECK: gpu.launch_func @redfuse_gpu::@dynamic_0
// CHECK-LABEL: gpu.func @dynamic_0
// CHECK-NOT: vector.load
// CHECK: memref.load {{.+}} : memref<8x?xf32>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @dynamic(%x: memref<8x?xf32>, %out: memref<8xf32>) {
  redfuse.launch @dynamic_0 ins(%x : memref<8x?xf32>) outs(%out : memref<8xf32>)
  return
}
redfuse.kernel @dynamic_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<8x?xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]}
       ins(%x : tensor<8x?xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}

// -----

// A warp selects the best of a row: for each rank its lanes agree by shuffles,
// and whoever has it lets go of it. A lane stores each rank.

// CHECK-LABEL: gpu.func @best_0
// CHECK: scf.for {{.+}} -> (i32, i32, i32, i32) {
// CHECK: scf.for {{.+}} -> (i32, i32, i32, i32, i32, i32) {
// CHECK-COUNT-10: gpu.shuffle xor
// CHECK: scf.yield
// CHECK: scf.if
// CHECK: memref.store
// CHECK: scf.yield
#x = affine_map<(i, j, k) -> (i, j)>
#r = affine_map<(i, j, k) -> (i, k)>
func.func @best(%x: memref<64x50xf32>, %v: memref<64x3xf32>, %n: memref<64x3xi64>) {
  redfuse.launch @best_0 ins(%x : memref<64x50xf32>)
      outs(%v, %n : memref<64x3xf32>, memref<64x3xi64>)
  return
}
redfuse.kernel @best_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [8, 0, 0]>} {
^bb0(%x: tensor<64x50xf32>, %v: tensor<64x3xf32>, %n: tensor<64x3xi64>):
  %0:2 = redfuse.cascade {indexing_maps = [#x, #r, #r]}
       ins(%x : tensor<64x50xf32>) outs(%v, %n : tensor<64x3xf32>, tensor<64x3xi64>) {
  ^bb0(%e: f32):
    %j = redfuse.index 1
    %number = arith.index_cast %j : index to i64
    %s:2 = redfuse.reduce topk %e, %number over [1] into [0, 2] : f32, i64
    redfuse.yield %s#0, %s#1 : f32, i64
  } -> tensor<64x3xf32>, tensor<64x3xi64>
  redfuse.yield %0#0, %0#1 : tensor<64x3xf32>, tensor<64x3xi64>
}

// -----

// Warps that have no row of their own share one: what is better than the last rank is inserted,
// and lanes behind it take what the one before them has. What all warps have found is merged.

// CHECK-LABEL: gpu.func @best_of_many_0
// CHECK: scf.for
// CHECK: scf.while
// CHECK-COUNT-2: gpu.shuffle idx
// CHECK: scf.condition
// CHECK-COUNT-2: gpu.shuffle idx
// CHECK-COUNT-10: gpu.shuffle xor
// CHECK: scf.yield
// CHECK: scf.yield
// CHECK: gpu.barrier
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: scf.while
// CHECK: scf.if
// CHECK: memref.store
#x = affine_map<(i, j, k) -> (i, j)>
#r = affine_map<(i, j, k) -> (i, k)>
func.func @best_of_many(%x: memref<64x5000xf32>, %v: memref<64x3xf32>, %n: memref<64x3xi64>) {
  redfuse.launch @best_of_many_0 ins(%x : memref<64x5000xf32>)
      outs(%v, %n : memref<64x3xf32>, memref<64x3xi64>)
  return
}
redfuse.kernel @best_of_many_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0, 0]>} {
^bb0(%x: tensor<64x5000xf32>, %v: tensor<64x3xf32>, %n: tensor<64x3xi64>):
  %0:2 = redfuse.cascade {indexing_maps = [#x, #r, #r]}
       ins(%x : tensor<64x5000xf32>) outs(%v, %n : tensor<64x3xf32>, tensor<64x3xi64>) {
  ^bb0(%e: f32):
    %j = redfuse.index 1
    %number = arith.index_cast %j : index to i64
    %s:2 = redfuse.reduce topk %e, %number over [1] into [0, 2] : f32, i64
    redfuse.yield %s#0, %s#1 : f32, i64
  } -> tensor<64x3xf32>, tensor<64x3xi64>
  redfuse.yield %0#0, %0#1 : tensor<64x3xf32>, tensor<64x3xi64>
}
