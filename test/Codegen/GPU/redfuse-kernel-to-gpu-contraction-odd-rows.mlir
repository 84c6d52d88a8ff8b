// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-kernel-to-gpu -cse -canonicalize -split-input-file | FileCheck %s

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>

// A lane's neighbours are no vectors in rows of 129 elements. So lanes leave pairs of sums in the stages, which are
// free behind the loop, and threads store them in the order of memory.
// CHECK-LABEL: gpu.func @odd_0
// CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.tf32"
// CHECK: gpu.barrier
// CHECK-NOT: memref.store
// CHECK: vector.store {{.*}} {alignment = 8 : i64} : memref<{{.*}}xi32, #gpu.address_space<workgroup>>, vector<2xi32>
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: vector.load {{.*}} : memref<{{.*}}xi32, #gpu.address_space<workgroup>>, vector<1xi32>
// CHECK: memref.store {{.*}} : memref<64x129xf32>
func.func @odd(%x: memref<64x256xf32>, %w: memref<256x129xf32>, %y: memref<64x129xf32>) {
  redfuse.launch @odd_0 ins(%x, %w : memref<64x256xf32>, memref<256x129xf32>) outs(%y : memref<64x129xf32>) {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [2, 2], instructions = [2, 4], slabs = 2, stages = 3, splits = 1, boxes = false>}
  return
}
redfuse.kernel @odd_0 attributes {num_inputs = 2 : i64} {
^bb0(%x: tensor<64x256xf32>, %w: tensor<256x129xf32>, %y: tensor<64x129xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%x, %w : tensor<64x256xf32>, tensor<256x129xf32>) outs(%y : tensor<64x129xf32>) {
  ^bb0(%a: f32, %b: f32):
    %a19 = arith.truncf %a : f32 to tf32
    %f = arith.extf %a19 : tf32 to f32
    %b19 = arith.truncf %b : f32 to tf32
    %g = arith.extf %b19 : tf32 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x129xf32>
  redfuse.yield %r : tensor<64x129xf32>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>

// Of 128 elements they are: each lane stores its own.
// CHECK-LABEL: gpu.func @even_0
// CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.tf32"
// CHECK-NOT: vector.store {{.*}}workgroup
// CHECK: vector.store {{.*}} : memref<64x128xf32>, vector<4xf32>
func.func @even(%x: memref<64x256xf32>, %w: memref<256x128xf32>, %y: memref<64x128xf32>) {
  redfuse.launch @even_0 ins(%x, %w : memref<64x256xf32>, memref<256x128xf32>) outs(%y : memref<64x128xf32>) {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [2, 2], instructions = [2, 4], slabs = 2, stages = 3, splits = 1, boxes = false>}
  return
}
redfuse.kernel @even_0 attributes {num_inputs = 2 : i64} {
^bb0(%x: tensor<64x256xf32>, %w: tensor<256x128xf32>, %y: tensor<64x128xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%x, %w : tensor<64x256xf32>, tensor<256x128xf32>) outs(%y : tensor<64x128xf32>) {
  ^bb0(%a: f32, %b: f32):
    %a19 = arith.truncf %a : f32 to tf32
    %f = arith.extf %a19 : tf32 to f32
    %b19 = arith.truncf %b : f32 to tf32
    %g = arith.extf %b19 : tf32 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x128xf32>
  redfuse.yield %r : tensor<64x128xf32>
}
