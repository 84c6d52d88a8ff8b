// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90 -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=gfx90a -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s --check-prefix=WAVES

// Eight ranks of rows of 256: a lane sorts what it holds, and each rank costs one
// instruction for the key and one for its number.

// CHECK-LABEL: gpu.func @rows
// CHECK: scf.for
// CHECK: gpu.subgroup_reduce maxsi %{{.+}} uniform : (i32) -> i32
// CHECK: gpu.subgroup_reduce minsi %{{.+}} uniform : (i32) -> i32
// CHECK-NOT: gpu.shuffle

// WAVES-LABEL: gpu.func @rows
// WAVES-NOT: gpu.subgroup_reduce
// WAVES: gpu.shuffle xor
#x = affine_map<(i, j, k) -> (i, j)>
#t = affine_map<(i, j, k) -> (i, k)>
func.func @main(%x: memref<64x256xf32>, %v: memref<64x8xf32>, %n: memref<64x8xi64>) {
  redfuse.launch @rows ins(%x : memref<64x256xf32>) outs(%v, %n : memref<64x8xf32>, memref<64x8xi64>)
  return
}
redfuse.kernel @rows attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [16, 0, 0]>} {
^bb0(%x: tensor<64x256xf32>, %v: tensor<64x8xf32>, %n: tensor<64x8xi64>):
  %0:2 = redfuse.cascade {indexing_maps = [#x, #t, #t]} ins(%x : tensor<64x256xf32>)
      outs(%v, %n : tensor<64x8xf32>, tensor<64x8xi64>) {
  ^bb0(%e: f32):
    %j = redfuse.index 1
    %at = arith.index_cast %j : index to i64
    %values, %places = redfuse.reduce topk %e, %at over [1] into [0, 2] : f32, i64
    redfuse.yield %values, %places : f32, i64
  } -> tensor<64x8xf32>, tensor<64x8xi64>
  redfuse.yield %0#0, %0#1 : tensor<64x8xf32>, tensor<64x8xi64>
}
