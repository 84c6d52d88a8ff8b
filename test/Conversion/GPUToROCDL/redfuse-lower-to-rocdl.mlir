// RUN: redfuse-opt %s -redfuse-plan-registers -redfuse-kernel-to-gpu -redfuse-attach-target=chip=gfx942 -redfuse-lower-to-rocdl | FileCheck %s
// RUN: redfuse-opt %s -redfuse-plan-registers -redfuse-kernel-to-gpu -redfuse-attach-target=chip=gfx1100 -redfuse-lower-to-rocdl | FileCheck %s

// Down to the ROCDL dialect: 16-byte loads, shuffles by permutes, a barrier, LDS
// that the launch sizes; exponentials as arithmetic, without a device library.

// CHECK-LABEL: gpu.module @redfuse_gpu
// CHECK-NOT: __ocml
// CHECK: llvm.mlir.global external {{.*}}addr_space = 3{{.*}}!llvm.array<0 x
// CHECK: llvm.func @row_sum_0{{.*}}rocdl.kernel
// CHECK-DAG: rocdl.workgroup.id.x
// CHECK-DAG: rocdl.workitem.id.x
// CHECK: llvm.load {{.*}}vector<4xf32>
// CHECK: llvm.intr.fma
// CHECK: rocdl.ds_bpermute
// CHECK: rocdl.barrier
// CHECK-NOT: __ocml
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @row_sum(%x: memref<64x4096xf32>, %out: memref<64xf32>) {
  redfuse.launch @row_sum_0 ins(%x : memref<64x4096xf32>) outs(%out : memref<64xf32>)
  return
}
redfuse.kernel @row_sum_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x4096xf32>, %init: tensor<64xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]}
       ins(%x : tensor<64x4096xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %p = math.exp %e : f32
    %s = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %0 : tensor<64xf32>
}
