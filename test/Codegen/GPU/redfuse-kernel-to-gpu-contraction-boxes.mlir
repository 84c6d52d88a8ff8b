// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-kernel-to-gpu -cse -canonicalize | FileCheck %s

#x = affine_map<(o, p, c, t) -> ((p + t + 126) mod 128, c)>
#w = affine_map<(o, p, c, t) -> (o, t, c)>
#y = affine_map<(o, p, c, t) -> (o, p)>

// The window goes over 128 places, from two before the first to two behind the last; there is
// one image. Filters are rows of a box: sums, filters, taps.
// CHECK-LABEL: func.func @window
// CHECK-DAG: call @redfuse_rt_tensor_map
// CHECK-DAG: call @redfuse_rt_window_map
// CHECK: dynamic_shared_memory_size %c131120_i32
// CHECK: gpu.func @window_0
// CHECK-SAME: %[[FILTERS:[a-z0-9]+]]: vector<16xi64>, %[[PLACES:[a-z0-9]+]]: vector<16xi64>
// One thread prepares the barriers of four stages, and fills three.
// CHECK-COUNT-4: tile.init_barrier %{{.*}} arrivals 1
// CHECK: tile.fence_barriers
// CHECK: gpu.barrier
// CHECK-COUNT-3: tile.expect %{{.*}} bytes 32768
// CHECK: %[[NONE:.*]] = tile.accumulators
// CHECK: %[[ALL:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] = %[[NONE]])
// CHECK: tile.wait_barrier
// CHECK: %[[A:.*]] = tile.view at %{{.*}} : !tile.shared<64x32xf32>
// CHECK: %[[B:.*]] = tile.view at %{{.*}} : !tile.shared<128x32xf32>
// CHECK: %[[NEXT:.*]] = tile.multiply %[[A]], %[[B]] over 32 plus %[[SUM]]
// CHECK-NEXT: tile.wait_products 1
// CHECK-NEXT: gpu.barrier
// CHECK: scf.if
// CHECK: tile.expect
// CHECK: tile.copy %[[FILTERS]][%{{.*}}, %{{.*}}, %{{.*}}] to %{{.*}} signal %{{.*}} : !tile.shared<128x32xf32>
// CHECK: tile.copy %[[PLACES]][%{{.*}}, %{{.*}}, %{{.*}}] window[%{{.*}}] to
// CHECK: scf.yield %[[NEXT]]
// CHECK: tile.wait_products 0 of %[[ALL]]
func.func @window(%x: memref<128x512xf32>, %w: memref<128x3x512xf32>, %y: memref<128x130xf32>) {
  redfuse.launch @window_0 ins(%x, %w : memref<128x512xf32>, memref<128x3x512xf32>) outs(%y : memref<128x130xf32>) {redfuse.contraction = #redfuse.contraction_plan<wgmma, warps = [8, 1], instructions = [1, 16], slabs = 2, stages = 4, splits = 1, boxes = true>}
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
