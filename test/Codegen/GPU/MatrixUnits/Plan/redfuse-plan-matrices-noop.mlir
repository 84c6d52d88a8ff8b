// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices | FileCheck %s

// What has a plan keeps it, and so does what has a reason for none.

// CHECK-LABEL: func.func @product
// CHECK: stages = 5
// CHECK: redfuse.no_matrices = "asked to by hand"
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @product(%a: memref<300x4096xf16>, %b: memref<4096x64xf16>, %out: memref<300x64xf32>) {
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 64, 0], consumers = 1, consumer_rows = 64, left = [tiled],
        sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32,
        ahead = 0, late = false, threshold = 0>}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.no_matrices = "asked to by hand"}
  return
}
redfuse.kernel @product_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [32, 64, 0]>} {
^bb0(%a: tensor<300x4096xf16>, %b: tensor<4096x64xf16>, %init: tensor<300x64xf32>):
  %0 = redfuse.cascade {indexing_maps = [#a, #b, #c]}
       ins(%a, %b : tensor<300x4096xf16>, tensor<4096x64xf16>) outs(%init : tensor<300x64xf32>) {
  ^bb0(%x: f16, %y: f16):
    %zero = arith.constant 0.0 : f32
    %u = arith.extf %x : f16 to f32
    %w = arith.extf %y : f16 to f32
    %uw = arith.mulf %u, %w : f32
    %s = redfuse.reduce add %uw over [2] into [0, 1] : f32
    %r = arith.maximumf %s, %zero : f32
    redfuse.yield %r : f32
  } -> tensor<300x64xf32>
  redfuse.yield %0 : tensor<300x64xf32>
}
