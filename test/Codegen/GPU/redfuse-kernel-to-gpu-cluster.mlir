// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s --check-prefix=OLD

// Two blocks share a row: each sends what its warps have to both, then both wait. A kernel's first words
// say that it runs; nothing is sent before all do.

// CHECK-LABEL: func.func @scale
// CHECK: gpu.launch_func @redfuse_gpu::@scale_0
// CHECK-LABEL: gpu.func @scale_0
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<64x8192xf32>, %[[W:[a-z0-9]+]]: memref<8192xf32>, %[[OUT:[a-z0-9]+]]: memref<64x8192xf32>
// CHECK: "barrier.cluster.arrive.relaxed.aligned;"

// What all blocks read stays in the cache; what one reads once goes past it (hint `cached` 3).
// CHECK: vector.load %[[X]]{{.*}}nontemporal = true
// CHECK: barrier.cluster.wait.acquire.aligned
// CHECK: tile.address_in %{{.+}} block %{{[0-9a-z]+}}
// CHECK: st.shared::cluster.b32
// CHECK: tile.synchronize_cluster
// CHECK-NOT: vector.load %[[W]]{{.*}}nontemporal
// CHECK: vector.load %[[W]]
// CHECK: vector.store {{.*}}%[[OUT]]{{.*}}nontemporal = true

// OLD-NOT: cluster
// OLD: gpu.barrier
// OLD-NOT: cluster

#x = affine_map<(i, j) -> (i, j)>
#c = affine_map<(i, j) -> (j)>
func.func @scale(%x: memref<64x8192xf32>, %w: memref<8192xf32>, %out: memref<64x8192xf32>) {
  redfuse.launch @scale_0 ins(%x, %w : memref<64x8192xf32>, memref<8192xf32>)
      outs(%out : memref<64x8192xf32>)
  return
}
redfuse.kernel @scale_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0], hints = {cluster = 2, bypass = all}>} {
^bb0(%x: tensor<64x8192xf32>, %w: tensor<8192xf32>, %init: tensor<64x8192xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #c, #x]}
       ins(%x, %w : tensor<64x8192xf32>, tensor<8192xf32>) outs(%init : tensor<64x8192xf32>) {
  ^bb0(%v: f32, %u: f32):
    %s = redfuse.reduce add %v over [1] into [0] : f32
    %q = arith.divf %v, %s : f32
    %y = arith.mulf %q, %u : f32
    redfuse.yield %y : f32
  } -> tensor<64x8192xf32>
  redfuse.yield %0 : tensor<64x8192xf32>
}
