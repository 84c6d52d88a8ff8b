// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-kernel-to-gpu -cse -canonicalize | FileCheck %s

#x = affine_map<(o, p, c, t) -> ((p + t + 126) mod 128, c)>
#w = affine_map<(o, p, c, t) -> (o, t, c)>
#y = affine_map<(o, p, c, t) -> (o, p)>

// Stages of 16 KiB for each operand. Three are on their way before the loop, but for the
// last, to which the products of two steps before may still belong. 16 bytes a copy.
// CHECK-LABEL: func.func @window
// CHECK: dynamic_shared_memory_size %c131072_i32
// CHECK: gpu.func @window_0
// CHECK-SAME: nvvm.minctasm = 1
// CHECK-NOT: memref.load
// CHECK-DAG: "cp.async.ca.shared.global [$0], [$1], 16, $2;"
// CHECK-DAG: "cp.async.ca.shared.global [$0], [$1], 16;"
// CHECK: tile.commit_rows
// CHECK: tile.commit_rows
// CHECK: %[[NONE:.*]] = tile.accumulators
// CHECK: %[[ALL:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[NONE]])
// CHECK-NEXT: tile.wait_rows 1
// CHECK-NEXT: tile.fence_copies
// CHECK-NEXT: gpu.barrier
// CHECK: %[[A:.*]] = tile.view at %{{.*}} : !tile.shared<64x32xf32>
// CHECK: %[[B:.*]] = tile.view at %{{.*}} : !tile.shared<128x32xf32>
// CHECK: %[[NEXT:.*]] = tile.multiply %[[A]], %[[B]] over 32 plus %[[SUM]]
// CHECK: tile.commit_rows
// CHECK: tile.wait_products 1
// CHECK: scf.yield %[[NEXT]]
// CHECK: tile.wait_products 0 of %[[ALL]]
// What is rounded before is not rounded again; nothing is repaired. Sums pass through the
// stages: columns of even extents are stored in pairs.
// CHECK-NOT: cvt.rn
// CHECK: gpu.barrier
// CHECK: vector.store %{{.*}} : memref<32768xi32, #gpu.address_space<workgroup>>, vector<2xi32>
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: vector.load %{{.*}} : memref<32768xi32, #gpu.address_space<workgroup>>, vector<2xi32>
// CHECK: vector.store %{{.*}} : memref<128x130xf32>, vector<2xf32>
func.func @window(%x: memref<128x512xf32>, %w: memref<128x3x512xf32>, %y: memref<128x130xf32>) {
  redfuse.launch @window_0 ins(%x, %w : memref<128x512xf32>, memref<128x3x512xf32>) outs(%y : memref<128x130xf32>) {redfuse.contraction = #redfuse.contraction_plan<wgmma, warps = [8, 1], instructions = [1, 16], slabs = 2, stages = 4, splits = 1>}
  return
}
redfuse.kernel @window_0 attributes {num_inputs = 2 : i64} {
^bb0(%x: tensor<128x512xf32>, %w: tensor<128x3x512xf32>, %y: tensor<128x130xf32>):
  %two = arith.constant 2 : index
  %end = arith.constant 130 : index
  %zero = arith.constant 0.0 : f32
  %r = redfuse.cascade {indexing_maps = [#x, #w, #y]} ins(%x, %w : tensor<128x512xf32>, tensor<128x3x512xf32>) outs(%y : tensor<128x130xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = redfuse.index 1
    %t = redfuse.index 3
    %i = arith.addi %p, %t : index
    %low = arith.cmpi sge, %i, %two : index
    %high = arith.cmpi slt, %i, %end : index
    %inside = arith.andi %low, %high : i1
    %v = arith.select %inside, %a, %zero : f32
    %v19 = arith.truncf %v {redfuse.exact} : f32 to tf32
    %f = arith.extf %v19 : tf32 to f32
    %b19 = arith.truncf %b {redfuse.exact} : f32 to tf32
    %g = arith.extf %b19 : tf32 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2, 3] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<128x130xf32>
  redfuse.yield %r : tensor<128x130xf32>
}
