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
