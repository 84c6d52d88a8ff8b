// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-contractions -split-input-file | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-contractions -redfuse-plan-products -split-input-file | FileCheck %s --check-prefix=OLDER

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>

// A large product has large tiles, and no others. Tiles of the schedule do not count.
// CHECK-LABEL: func.func @large
// OLDER-LABEL: func.func @large
// OLDER: redfuse.contraction = #redfuse.contraction_plan<
// OLDER-NOT: product_tiles
// CHECK: redfuse.launch @large_0 {{.*}} {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [2, 2], instructions = [4, 4], slabs = 2, stages = 2, splits = 1>}
func.func @large(%a: memref<4096x2048xf32>, %b: memref<2048x4096xf32>, %out: memref<4096x4096xf32>) {
  redfuse.launch @large_0 ins(%a, %b : memref<4096x2048xf32>, memref<2048x4096xf32>) outs(%out : memref<4096x4096xf32>)
  return
}
redfuse.kernel @large_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [4, 1, 0]>} {
^bb0(%a: tensor<4096x2048xf32>, %b: tensor<2048x4096xf32>, %init: tensor<4096x4096xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<4096x2048xf32>, tensor<2048x4096xf32>) outs(%init : tensor<4096x4096xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  redfuse.yield %r : tensor<4096x4096xf32>
}

// -----

#x = affine_map<(n, o, h, w, c, r, s) -> (n, c, h + r, w + s)>
#w = affine_map<(n, o, h, w, c, r, s) -> (o, c, r, s)>
#e = affine_map<(n, o, h, w, c, r, s) -> (o)>
#o = affine_map<(n, o, h, w, c, r, s) -> (n, o, h, w)>

// A convolution of few filters, with what follows it.
// CHECK-LABEL: func.func @window
// CHECK: redfuse.launch @window_0 {{.*}} {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [2, 2], instructions = [1, 2], slabs = 2, stages = 2, splits = 1>}
func.func @window(%x: memref<8x16x34x34xbf16>, %w: memref<16x16x3x3xbf16>, %e: memref<16xf32>, %out: memref<8x16x32x32xbf16>) {
  redfuse.launch @window_0 ins(%x, %w, %e : memref<8x16x34x34xbf16>, memref<16x16x3x3xbf16>, memref<16xf32>) outs(%out : memref<8x16x32x32xbf16>)
  return
}
redfuse.kernel @window_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1, 2], tiles = [1, 1, 1, 32, 0, 0, 0]>} {
^bb0(%x: tensor<8x16x34x34xbf16>, %w: tensor<16x16x3x3xbf16>, %e: tensor<16xf32>, %init: tensor<8x16x32x32xbf16>):
  %r = redfuse.cascade {indexing_maps = [#x, #w, #e, #o]} ins(%x, %w, %e : tensor<8x16x34x34xbf16>, tensor<16x16x3x3xbf16>, tensor<16xf32>) outs(%init : tensor<8x16x32x32xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %bias: f32):
    %aw = arith.extf %a : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %p = arith.mulf %aw, %bw : f32
    %s = redfuse.reduce add %p over [4, 5, 6] into [0, 1, 2, 3] : f32
    %t = arith.addf %s, %bias : f32
    %u = arith.truncf %t : f32 to bf16
    redfuse.yield %u : bf16
  } -> tensor<8x16x32x32xbf16>
  redfuse.yield %r : tensor<8x16x32x32xbf16>
}

// -----

#x = affine_map<(o, p, c, t) -> ((p + t + 4094) mod 4096, c)>
#w = affine_map<(o, p, c, t) -> (o, t, c)>
#y = affine_map<(o, p, c, t) -> (o, p)>

// A window whose padding is what lies outside of the tensor: places that a tensor map describes.
// CHECK-LABEL: func @window
// CHECK: redfuse.launch @window_0
// CHECK-SAME: redfuse.contraction = #redfuse.contraction_plan<wgmma,
// CHECK-SAME: boxes = true>
// OLDER-LABEL: func @window
// OLDER: redfuse.contraction = #redfuse.contraction_plan<mma_sync,
// OLDER-NOT: boxes
func.func @window(%x: memref<4096x512xf32>, %w: memref<128x3x512xf32>, %y: memref<128x4098xf32>) {
  redfuse.launch @window_0 ins(%x, %w : memref<4096x512xf32>, memref<128x3x512xf32>) outs(%y : memref<128x4098xf32>)
  return
}
redfuse.kernel @window_0 attributes {num_inputs = 2 : i64} {
^bb0(%x: tensor<4096x512xf32>, %w: tensor<128x3x512xf32>, %y: tensor<128x4098xf32>):
  %two = arith.constant 2 : index
  %end = arith.constant 4098 : index
  %zero = arith.constant 0.0 : f32
  %r = redfuse.cascade {indexing_maps = [#x, #w, #y]} ins(%x, %w : tensor<4096x512xf32>, tensor<128x3x512xf32>) outs(%y : tensor<128x4098xf32>) {
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
  } -> tensor<128x4098xf32>
  redfuse.yield %r : tensor<128x4098xf32>
}

// -----

#x = affine_map<(i, j, k) -> (i, k)>
#y = affine_map<(i, j, k) -> (k, j)>
#z = affine_map<(i, j, k) -> (i, j)>

// Rows that begin in the middle of words are loaded one element at a time: stages are short.
// CHECK-LABEL: func @singly
// CHECK: redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [1, 4], instructions = [1, 4], slabs = 1,
func.func @singly(%x: memref<10x12149xf16>, %y: memref<12149x8179xf16>, %z: memref<10x8179xf32>) {
  redfuse.launch @singly_0 ins(%x, %y : memref<10x12149xf16>, memref<12149x8179xf16>) outs(%z : memref<10x8179xf32>)
  return
}
redfuse.kernel @singly_0 attributes {num_inputs = 2 : i64} {
^bb0(%x: tensor<10x12149xf16>, %y: tensor<12149x8179xf16>, %z: tensor<10x8179xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #y, #z]} ins(%x, %y : tensor<10x12149xf16>, tensor<12149x8179xf16>) outs(%z : tensor<10x8179xf32>) {
  ^bb0(%a: f16, %b: f16):
    %f = arith.extf %a : f16 to f32
    %g = arith.extf %b : f16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<10x8179xf32>
  redfuse.yield %r : tensor<10x8179xf32>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>

// Products of f64 are copied in three stages. An instruction has 16 rows, on older ones 8.
// CHECK-LABEL: func @double
// CHECK: redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [2, 4], instructions = [4, 4], slabs = 2, stages = 3, splits = 1>
// OLDER-LABEL: func @double
// OLDER: redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [2, 2], instructions = [8, 4], slabs = 2, stages = 3, splits = 1>
func.func @double(%a: memref<4096x4096xf64>, %b: memref<4096x4096xf64>, %out: memref<4096x4096xf64>) {
  redfuse.launch @double_0 ins(%a, %b : memref<4096x4096xf64>, memref<4096x4096xf64>) outs(%out : memref<4096x4096xf64>)
  return
}
redfuse.kernel @double_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [4, 1, 0]>} {
^bb0(%a: tensor<4096x4096xf64>, %b: tensor<4096x4096xf64>, %init: tensor<4096x4096xf64>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<4096x4096xf64>, tensor<4096x4096xf64>) outs(%init : tensor<4096x4096xf64>) {
  ^bb0(%x: f64, %y: f64):
    %p = arith.mulf %x, %y : f64
    %s = redfuse.reduce add %p over [2] into [0, 1] : f64
    redfuse.yield %s : f64
  } -> tensor<4096x4096xf64>
  redfuse.yield %r : tensor<4096x4096xf64>
}

// -----

#x = affine_map<(n, c, p, k) -> (n, k, p)>
#w = affine_map<(n, c, p, k) -> (c, k)>
#o = affine_map<(n, c, p, k) -> (n, c, p)>

// A sum of 64 is over when its first stages have come: what memory takes is exposed, and blocks
// are small, so that there are several of them on a multiprocessor.
// CHECK-LABEL: func @pointwise
// CHECK: redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [1, 4], instructions = [4, 4], slabs = 1, stages = 3, splits = 1>
func.func @pointwise(%x: memref<16x64x1048576xf32>, %w: memref<128x64xf32>, %out: memref<16x128x1048576xf32>) {
  redfuse.launch @pointwise_0 ins(%x, %w : memref<16x64x1048576xf32>, memref<128x64xf32>) outs(%out : memref<16x128x1048576xf32>)
  return
}
redfuse.kernel @pointwise_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1, 2], tiles = [1, 64, 64, 0]>} {
^bb0(%x: tensor<16x64x1048576xf32>, %w: tensor<128x64xf32>, %init: tensor<16x128x1048576xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #w, #o]} ins(%x, %w : tensor<16x64x1048576xf32>, tensor<128x64xf32>) outs(%init : tensor<16x128x1048576xf32>) {
  ^bb0(%a: f32, %b: f32):
    %a1 = arith.truncf %a : f32 to tf32
    %a2 = arith.extf %a1 : tf32 to f32
    %b1 = arith.truncf %b : f32 to tf32
    %b2 = arith.extf %b1 : tf32 to f32
    %p = arith.mulf %a2, %b2 : f32
    %s = redfuse.reduce add %p over [3] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<16x128x1048576xf32>
  redfuse.yield %r : tensor<16x128x1048576xf32>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#o = affine_map<(i, j, k) -> (i, j)>

// Few rows by packed weights: these are the instruction's rows, and warps share their sums.
// CHECK-LABEL: func.func @packed
// CHECK: redfuse.launch @packed_0 {{.*}} {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [1, 1, 4], instructions = [2, 1], slabs = 16, stages = 2, splits = 1>}
func.func @packed(%a: memref<8x4096xbf16>, %b: memref<11008x4096xi8>, %out: memref<8x11008xf32>) {
  redfuse.launch @packed_0 ins(%a, %b : memref<8x4096xbf16>, memref<11008x4096xi8>) outs(%out : memref<8x11008xf32>)
  return
}
redfuse.kernel @packed_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [8, 32, 0]>} {
^bb0(%a: tensor<8x4096xbf16>, %b: tensor<11008x4096xi8>, %init: tensor<8x11008xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<8x4096xbf16>, tensor<11008x4096xi8>) outs(%init : tensor<8x11008xf32>) {
  ^bb0(%x: bf16, %y: i8):
    %u = arith.extf %x : bf16 to f32
    %v = arith.sitofp %y : i8 to bf16
    %w = arith.extf %v : bf16 to f32
    %p = arith.mulf %u, %w : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<8x11008xf32>
  redfuse.yield %r : tensor<8x11008xf32>
}

// -----

#x = affine_map<(n, o, h, w, c, r, s) -> (n, c, h + r, w + s)>
#w = affine_map<(n, o, h, w, c, r, s) -> (o, c, r, s)>
#o = affine_map<(n, o, h, w, c, r, s) -> (n, o, h, w)>

// Three filters of 64 channels, which no thread holds: a tile of 16 of them.
// CHECK-LABEL: func.func @three_filters
// CHECK: redfuse.launch @three_filters_0 {{.*}} {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [1, 4], instructions = [1, 4], slabs = 1, stages = 2, splits = 1>}
func.func @three_filters(%x: memref<16x64x226x226xbf16>, %w: memref<3x64x3x3xbf16>, %out: memref<16x3x224x224xbf16>) {
  redfuse.launch @three_filters_0 ins(%x, %w : memref<16x64x226x226xbf16>, memref<3x64x3x3xbf16>) outs(%out : memref<16x3x224x224xbf16>)
  return
}
redfuse.kernel @three_filters_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1, 2, 3], tiles = [1, 1, 64, 64, 0, 0, 0]>} {
^bb0(%x: tensor<16x64x226x226xbf16>, %w: tensor<3x64x3x3xbf16>, %init: tensor<16x3x224x224xbf16>):
  %r = redfuse.cascade {indexing_maps = [#x, #w, #o]} ins(%x, %w : tensor<16x64x226x226xbf16>, tensor<3x64x3x3xbf16>) outs(%init : tensor<16x3x224x224xbf16>) {
  ^bb0(%a: bf16, %b: bf16):
    %aw = arith.extf %a : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %p = arith.mulf %aw, %bw : f32
    %s = redfuse.reduce add %p over [4, 5, 6] into [0, 1, 2, 3] : f32
    %u = arith.truncf %s : f32 to bf16
    redfuse.yield %u : bf16
  } -> tensor<16x3x224x224xbf16>
  redfuse.yield %r : tensor<16x3x224x224xbf16>
}
