// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-kernel-to-gpu -cse -canonicalize | FileCheck %s

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#v = affine_map<(i, j, k) -> (j)>

// A block of one warp for each tile of 32 x 32: what a thread loads for the next stage is
// on its way while it multiplies this one, and is stored behind that. Each column has three
// products of both halves of a slab; their sum is added.
// CHECK-LABEL: func.func @product
// CHECK: gpu.launch_func{{ *}}@redfuse_gpu::@product_0 {{ *}}blocks in (%c9, %c1, %c1){{ *}}threads in (%c32, %c1, %c1){{ *}}dynamic_shared_memory_size %c8192_i32
// CHECK: gpu.func @product_0
// CHECK-SAME: known_block_size = array<i32: 32, 1, 1>
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK-NOT: vector.store
// CHECK: vector.load %{{.*}} {alignment = 16 : i64} : memref<5120xf32, strided<[1]>>, vector<4xf32>
// CHECK: vector.load %{{.*}} {alignment = 8 : i64} : memref<6144xf32, strided<[1]>>, vector<2xf32>
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<2048xi32, #gpu.address_space<workgroup>>, vector<4xi32>
// CHECK-COUNT-48: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.tf32"
// CHECK: vector.store {{.*}} {alignment = 16 : i64} : memref<2048xi32, #gpu.address_space<workgroup>>, vector<4xi32>
// CHECK: gpu.barrier
// What is not finite is computed anew.
// CHECK: scf.if
// CHECK: scf.for
// CHECK: math.fma
// The epilogue.
// CHECK: arith.addf
// CHECK: vector.store {{.*}} : memref<80x96xf32>, vector<4xf32>
// CHECK: gpu.return
func.func @product(%a: memref<80x64xf32>, %b: memref<64x96xf32>, %bias: memref<96xf32>, %out: memref<80x96xf32>) {
  redfuse.launch @product_0 ins(%a, %b, %bias : memref<80x64xf32>, memref<64x96xf32>, memref<96xf32>) outs(%out : memref<80x96xf32>)
      {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [1, 1], instructions = [2, 4], slabs = 1, stages = 2, splits = 1>}
  return
}
redfuse.kernel @product_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [4, 4, 0]>} {
^bb0(%a: tensor<80x64xf32>, %b: tensor<64x96xf32>, %bias: tensor<96xf32>, %init: tensor<80x96xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #v, #o]} ins(%a, %b, %bias : tensor<80x64xf32>, tensor<64x96xf32>, tensor<96xf32>) outs(%init : tensor<80x96xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %t = arith.addf %s, %z : f32
    redfuse.yield %t : f32
  } -> tensor<80x96xf32>
  redfuse.yield %r : tensor<80x96xf32>
}
