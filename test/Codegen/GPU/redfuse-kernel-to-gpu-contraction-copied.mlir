// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-kernel-to-gpu -cse -canonicalize | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-kernel-to-gpu -cse -canonicalize | FileCheck %s --check-prefix=SM80

#x = affine_map<(o, p, c, t) -> (c, (p + t + 126) mod 128)>
#w = affine_map<(o, p, c, t) -> (t, c, o)>
#y = affine_map<(o, p, c, t) -> (o, p)>

// Two stages are on their way before the loop, a third one in it. Filters are copied 8
// bytes at a time, elements of the window one by one, and none where it is padding.
// CHECK-LABEL: func.func @window
// CHECK: dynamic_shared_memory_size %c24576_i32
// CHECK: gpu.func @window_0
// CHECK-NOT: memref.load
// CHECK-DAG: "cp.async.ca.shared.global [$0], [$1], 4, $2;"
// CHECK-DAG: "cp.async.ca.shared.global [$0], [$1], 8;"
// CHECK: tile.commit_rows
// CHECK: tile.commit_rows
// CHECK: scf.for
// CHECK: tile.wait_rows 1
// CHECK-NEXT: gpu.barrier
// CHECK: tile.commit_rows
// What has been read is rounded; the instruction adds to the sums.
// CHECK: "cvt.rn.tf32.f32 $0, $1;"
// CHECK: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.tf32"
// CHECK-NOT: arith.addf
// CHECK: scf.yield
// SM80-LABEL: gpu.func @window_0
// SM80: arith.truncf {{.*}} : f32 to tf32
func.func @window(%x: memref<32x128xf32>, %w: memref<3x32x64xf32>, %y: memref<64x130xf32>) {
  redfuse.launch @window_0 ins(%x, %w : memref<32x128xf32>, memref<3x32x64xf32>) outs(%y : memref<64x130xf32>) {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [2, 2], instructions = [2, 4], slabs = 1, stages = 3, splits = 1>}
  return
}
redfuse.kernel @window_0 attributes {num_inputs = 2 : i64} {
^bb0(%x: tensor<32x128xf32>, %w: tensor<3x32x64xf32>, %y: tensor<64x130xf32>):
  %two = arith.constant 2 : index
  %end = arith.constant 130 : index
  %zero = arith.constant 0.0 : f32
  %r = redfuse.cascade {indexing_maps = [#x, #w, #y]} ins(%x, %w : tensor<32x128xf32>, tensor<3x32x64xf32>) outs(%y : tensor<64x130xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = redfuse.index 1
    %t = redfuse.index 3
    %i = arith.addi %p, %t : index
    %low = arith.cmpi sge, %i, %two : index
    %high = arith.cmpi slt, %i, %end : index
    %inside = arith.andi %low, %high : i1
    %v = arith.select %inside, %a, %zero : f32
    %v19 = arith.truncf %v : f32 to tf32
    %f = arith.extf %v19 : tf32 to f32
    %b19 = arith.truncf %b : f32 to tf32
    %g = arith.extf %b19 : tf32 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2, 3] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x130xf32>
  redfuse.yield %r : tensor<64x130xf32>
}

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>

// f64: two elements by a copy where rows are 16 bytes apart, and two by an access of
// shared memory, of a row or of two rows. Results of a lane are neighbours.
// CHECK-LABEL: gpu.func @double_0
// CHECK-DAG: "cp.async.cg.shared.global [$0], [$1], 16, $2;"
// CHECK-DAG: "cp.async.ca.shared.global [$0], [$1], 8, $2;"
// Columns and the first rows are read before the loop. In it, other rows are read; then this
// stage is free, and columns and first rows of the next one are read before the last
// products. Copies go to all stages but the next one.
// CHECK: tile.wait_rows 2
// CHECK-NEXT: gpu.barrier
// CHECK: vector.load {{.*}} {alignment = 16 : i64} : memref<4608xi32, #gpu.address_space<workgroup>>, vector<4xi32>
// CHECK: vector.bitcast {{.*}} : vector<4xi32> to vector<2xf64>
// CHECK: scf.for
// CHECK-COUNT-2: vector.load
// CHECK: tile.mma f64({{.*}}) by
// CHECK: tile.wait_rows 1
// CHECK-NEXT: gpu.barrier
// CHECK-COUNT-4: vector.load
// CHECK-COUNT-2: tile.mma f64({{.*}}) by f64({{.*}}) plus {{.*}} : (f64, f64, f64, f64), (f64, f64) -> f64, f64, f64, f64
// CHECK: "cp.async
// SM80-LABEL: gpu.func @double_0
// SM80: tile.mma f64({{.*}}) by f64({{.*}}) plus {{.*}} : (f64), (f64) -> f64, f64
func.func @double(%a: memref<64x90xf64>, %b: memref<90x45xf64>, %out: memref<64x45xf64>) {
  redfuse.launch @double_0 ins(%a, %b : memref<64x90xf64>, memref<90x45xf64>) outs(%out : memref<64x45xf64>) {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [2, 2], instructions = [2, 2], slabs = 1, stages = 3, splits = 1>}
  return
}
redfuse.kernel @double_0 attributes {num_inputs = 2 : i64} {
^bb0(%a: tensor<64x90xf64>, %b: tensor<90x45xf64>, %init: tensor<64x45xf64>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x90xf64>, tensor<90x45xf64>) outs(%init : tensor<64x45xf64>) {
  ^bb0(%x: f64, %y: f64):
    %p = arith.mulf %x, %y : f64
    %s = redfuse.reduce add %p over [2] into [0, 1] : f64
    redfuse.yield %s : f64
  } -> tensor<64x45xf64>
  redfuse.yield %r : tensor<64x45xf64>
}
