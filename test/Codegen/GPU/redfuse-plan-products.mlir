// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-products -split-input-file | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=gfx90a -redfuse-plan-products -split-input-file | FileCheck %s

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>

// Tiles as high and wide as an instruction.
// CHECK-LABEL: func.func @brief
// CHECK: redfuse.launch @brief_0 {{.*}} {redfuse.product_tiles = array<i64: 16, 16, 0>}
func.func @brief(%a: memref<64x80xbf16>, %b: memref<80x44xbf16>, %out: memref<64x44xf32>) {
  redfuse.launch @brief_0 ins(%a, %b : memref<64x80xbf16>, memref<80x44xbf16>) outs(%out : memref<64x44xf32>)
  return
}
redfuse.kernel @brief_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [4, 1, 0]>} {
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

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>

// Larger tiles, while there are two for each multiprocessor.
// CHECK-LABEL: func.func @large
// CHECK: redfuse.launch @large_0 {{.*}} {redfuse.product_tiles = array<i64: 128, 128, 0>}
func.func @large(%a: memref<4096x80xbf16>, %b: memref<80x4096xbf16>, %out: memref<4096x4096xf32>) {
  redfuse.launch @large_0 ins(%a, %b : memref<4096x80xbf16>, memref<80x4096xbf16>) outs(%out : memref<4096x4096xf32>)
  return
}
redfuse.kernel @large_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [16, 16, 0]>} {
^bb0(%a: tensor<4096x80xbf16>, %b: tensor<80x4096xbf16>, %init: tensor<4096x4096xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<4096x80xbf16>, tensor<80x4096xbf16>) outs(%init : tensor<4096x4096xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %xw = arith.extf %x : bf16 to f32
    %yw = arith.extf %y : bf16 to f32
    %p = arith.mulf %xw, %yw : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  redfuse.yield %r : tensor<4096x4096xf32>
}
