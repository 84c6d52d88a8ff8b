// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-products | FileCheck %s
// RUN: redfuse-opt %s -redfuse-plan-products | FileCheck %s
// CHECK-NOT: product_tiles = array<i64: 16

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Two rows are too few; a sum of one tensor is no product; tiles that are there stay.
// CHECK-LABEL: func.func @programs
// CHECK: redfuse.launch @few_0
// CHECK-NEXT: redfuse.launch @sums_0
// CHECK-NEXT: redfuse.launch @own_0 {{.*}} {redfuse.product_tiles = array<i64: 8, 8, 0>}
func.func @programs(%a: memref<2x80xbf16>, %b: memref<80x44xbf16>, %c: memref<64x80xbf16>, %few: memref<2x44xf32>, %own: memref<64x44xf32>, %x: memref<64x80xf32>, %sums: memref<64xf32>) {
  redfuse.launch @few_0 ins(%a, %b : memref<2x80xbf16>, memref<80x44xbf16>) outs(%few : memref<2x44xf32>)
  redfuse.launch @sums_0 ins(%x : memref<64x80xf32>) outs(%sums : memref<64xf32>)
  redfuse.launch @own_0 ins(%c, %b : memref<64x80xbf16>, memref<80x44xbf16>) outs(%own : memref<64x44xf32>) {redfuse.product_tiles = array<i64: 8, 8, 0>}
  return
}
redfuse.kernel @few_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [2, 16, 0]>} {
^bb0(%a: tensor<2x80xbf16>, %b: tensor<80x44xbf16>, %init: tensor<2x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<2x80xbf16>, tensor<80x44xbf16>) outs(%init : tensor<2x44xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<2x44xf32>
  redfuse.yield %r : tensor<2x44xf32>
}
redfuse.kernel @sums_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [4, 0]>} {
^bb0(%x: tensor<64x80xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}
redfuse.kernel @own_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [16, 16, 0]>} {
^bb0(%a: tensor<64x80xbf16>, %b: tensor<80x44xbf16>, %init: tensor<64x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<64x80xbf16>, tensor<80x44xbf16>) outs(%init : tensor<64x44xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x44xf32>
  redfuse.yield %r : tensor<64x44xf32>
}

// Little products behind large reductions have no tile that leaves multiprocessors without a block.
// CHECK-LABEL: func.func @little
// CHECK-NEXT: redfuse.launch @little_0
// CHECK-NOT: product_tiles
// CHECK: return
#v = affine_map<(i, j, k, l) -> (i, k, l)>
#u = affine_map<(i, j, k, l) -> (j, k)>
#y = affine_map<(i, j, k, l) -> (i, j)>
func.func @little(%x: memref<32x128x2500xbf16>, %w: memref<9x128xbf16>, %out: memref<32x9xf32>) {
  redfuse.launch @little_0 ins(%x, %w : memref<32x128x2500xbf16>, memref<9x128xbf16>) outs(%out : memref<32x9xf32>)
  return
}
redfuse.kernel @little_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0, 0, 0]>} {
^bb0(%x: tensor<32x128x2500xbf16>, %w: tensor<9x128xbf16>, %init: tensor<32x9xf32>):
  %r = redfuse.cascade {indexing_maps = [#v, #u, #y]} ins(%x, %w : tensor<32x128x2500xbf16>, tensor<9x128xbf16>) outs(%init : tensor<32x9xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %m = redfuse.reduce maximumf %a over [3] into [0, 2] : bf16
    %mw = arith.extf %m : bf16 to f32
    %bw = arith.extf %b : bf16 to f32
    %p = arith.mulf %mw, %bw : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<32x9xf32>
  redfuse.yield %r : tensor<32x9xf32>
}
