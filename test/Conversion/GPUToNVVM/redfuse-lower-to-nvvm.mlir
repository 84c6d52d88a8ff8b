// RUN: redfuse-opt %s -redfuse-plan-registers -redfuse-kernel-to-gpu -redfuse-attach-target=chip=sm_90a -redfuse-lower-to-nvvm -gpu-module-to-binary=format=isa | FileCheck %s
// RUN: redfuse-opt %s -redfuse-plan-registers -redfuse-kernel-to-gpu -redfuse-attach-target=chip=sm_80 -redfuse-lower-to-nvvm -gpu-module-to-binary=format=isa | FileCheck %s --check-prefix=SM80

// Down to PTX without a GPU: 16-byte loads, shuffles, a barrier.

// CHECK: gpu.binary @redfuse_gpu
// CHECK-SAME: chip = "sm_90a"
// CHECK-SAME: .target sm_90a
// CHECK-SAME: .entry row_max_0
// CHECK-SAME: ld.global{{[a-z.]*}}.v4
// CHECK-SAME: shfl.sync.bfly
// CHECK-SAME: bar.sync
// SM80: .target sm_80
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @row_max(%x: memref<64x4096xf32>, %out: memref<64xf32>) {
  redfuse.launch @row_max_0 ins(%x : memref<64x4096xf32>) outs(%out : memref<64xf32>)
  return
}
redfuse.kernel @row_max_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x4096xf32>, %init: tensor<64xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]}
       ins(%x : tensor<64x4096xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %0 : tensor<64xf32>
}
