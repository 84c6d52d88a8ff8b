// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-contractions | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=gfx90a -redfuse-plan-contractions | FileCheck %s
// RUN: redfuse-opt %s -redfuse-plan-contractions | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_86 -redfuse-plan-contractions | FileCheck %s --check-prefixes=CHECK,SM86
// CHECK-NOT: contraction_plan<warps = [2

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#r = affine_map<(i, j, k) -> (i)>

// Two rows are too few; another reduction is no epilogue; plans that are there stay.
// CHECK-LABEL: func.func @programs
// CHECK: redfuse.launch @few_0
// CHECK-NEXT: redfuse.launch @norm_0
// CHECK-NEXT: redfuse.launch @own_0 {{.*}} {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [1, 1], instructions = [1, 1], slabs = 1, stages = 2, splits = 1>}
// CHECK-NEXT: redfuse.launch @own_0 {{.*}} {redfuse.product_tiles = array<i64: 8, 8, 0>}
func.func @programs(%a: memref<2x80xf32>, %b: memref<80x44xf32>, %c: memref<64x80xf32>, %few: memref<2x44xf32>, %own: memref<64x44xf32>, %norm: memref<64xf32>) {
  redfuse.launch @few_0 ins(%a, %b : memref<2x80xf32>, memref<80x44xf32>) outs(%few : memref<2x44xf32>)
  redfuse.launch @norm_0 ins(%c, %b : memref<64x80xf32>, memref<80x44xf32>) outs(%norm : memref<64xf32>)
  redfuse.launch @own_0 ins(%c, %b : memref<64x80xf32>, memref<80x44xf32>) outs(%own : memref<64x44xf32>) {redfuse.contraction = #redfuse.contraction_plan<mma_sync, warps = [1, 1], instructions = [1, 1], slabs = 1, stages = 2, splits = 1>}
  redfuse.launch @own_0 ins(%c, %b : memref<64x80xf32>, memref<80x44xf32>) outs(%own : memref<64x44xf32>) {redfuse.product_tiles = array<i64: 8, 8, 0>}
  return
}
redfuse.kernel @few_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [2, 16, 0]>} {
^bb0(%a: tensor<2x80xf32>, %b: tensor<80x44xf32>, %init: tensor<2x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<2x80xf32>, tensor<80x44xf32>) outs(%init : tensor<2x44xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<2x44xf32>
  redfuse.yield %r : tensor<2x44xf32>
}
redfuse.kernel @norm_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [4, 0, 0]>} {
^bb0(%a: tensor<64x80xf32>, %b: tensor<80x44xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #r]} ins(%a, %b : tensor<64x80xf32>, tensor<80x44xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %m = redfuse.reduce maximumf %s over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}
redfuse.kernel @own_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [16, 16, 0]>} {
^bb0(%a: tensor<64x80xf32>, %b: tensor<80x44xf32>, %init: tensor<64x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x80xf32>, tensor<80x44xf32>) outs(%init : tensor<64x44xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x44xf32>
  redfuse.yield %r : tensor<64x44xf32>
}

// Units of f64 are slow on sm_86.
// SM86: redfuse.launch @double_0
// SM86-NOT: contraction_plan
func.func @double(%a: memref<256x80xf64>, %b: memref<80x128xf64>, %out: memref<256x128xf64>) {
  redfuse.launch @double_0 ins(%a, %b : memref<256x80xf64>, memref<80x128xf64>) outs(%out : memref<256x128xf64>)
  return
}
redfuse.kernel @double_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [4, 1, 0]>} {
^bb0(%a: tensor<256x80xf64>, %b: tensor<80x128xf64>, %init: tensor<256x128xf64>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<256x80xf64>, tensor<80x128xf64>) outs(%init : tensor<256x128xf64>) {
  ^bb0(%x: f64, %y: f64):
    %p = arith.mulf %x, %y : f64
    %s = redfuse.reduce add %p over [2] into [0, 1] : f64
    redfuse.yield %s : f64
  } -> tensor<256x128xf64>
  redfuse.yield %r : tensor<256x128xf64>
}
