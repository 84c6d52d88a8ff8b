// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-kernel-to-gpu -cse -canonicalize -split-input-file | FileCheck %s

#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (j, k)>
#o = affine_map<(i, j, k) -> (i, j)>

// Weights of 8 bits are the instruction's rows, and lanes make floats of what they multiply: shared memory has the
// rows of `x` alone. Loads are a step ahead. Four warps share the sum: three leave what they have, which the first one
// adds and stores.
// CHECK-LABEL: gpu.func @packed_0
// CHECK: vector.load {{.*}} : memref<32768xi8{{.*}}, vector<8xi8>
// CHECK: scf.for
// CHECK: vector.load {{.*}} : memref<32768xi8{{.*}}, vector<8xi8>
// CHECK: arith.sitofp {{.*}} : vector<8xi8> to vector<8x{{.*}}>
// CHECK: tile.mma bf16
// CHECK: vector.store {{.*}}workgroup{{.*}}vector<4xi32>
// CHECK: gpu.barrier
// CHECK: scf.yield {{.*}} vector<8xi8>
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK-COUNT-2: vector.store {{.*}}workgroup{{.*}}vector<4xi32>
// CHECK-NOT: vector.store {{.*}}workgroup
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK-COUNT-24: arith.addf
// CHECK: memref.store {{.*}} : memref<4x32xf32>
func.func @packed(%x: memref<4x1024xbf16>, %w: memref<32x1024xi8>, %y: memref<4x32xf32>) {
  redfuse.launch @packed_0 ins(%x, %w : memref<4x1024xbf16>, memref<32x1024xi8>) outs(%y : memref<4x32xf32>) {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [1, 1, 4], instructions = [2, 1], slabs = 8, stages = 2, splits = 1>}
  return
}
redfuse.kernel @packed_0 attributes {num_inputs = 2 : i64} {
^bb0(%x: tensor<4x1024xbf16>, %w: tensor<32x1024xi8>, %y: tensor<4x32xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #w, #o]} ins(%x, %w : tensor<4x1024xbf16>, tensor<32x1024xi8>) outs(%y : tensor<4x32xf32>) {
  ^bb0(%a: bf16, %b: i8):
    %f = arith.extf %a : bf16 to f32
    %g = arith.sitofp %b : i8 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4x32xf32>
  redfuse.yield %r : tensor<4x32xf32>
}
