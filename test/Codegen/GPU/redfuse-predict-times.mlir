// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-predict-times -split-input-file | FileCheck %s

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>

// By matrix units, in tiles of 128 x 128: 33 x 32 of them, of which the last row is not full.
// CHECK-LABEL: func.func @product
// CHECK: redfuse.predicted = #redfuse.predicted_time<total = {{[1-9][0-9]+}}, launch = {{[1-9][0-9]+}}, memory = {{[1-9][0-9]+}}, matrix = {{[1-9][0-9]+}}, vector = 0, blocks = 1056>
func.func @product(%a: memref<4097x2048xbf16>, %b: memref<2048x4096xbf16>, %out: memref<4097x4096xf32>) {
  redfuse.launch @product_0 ins(%a, %b : memref<4097x2048xbf16>, memref<2048x4096xbf16>) outs(%out : memref<4097x4096xf32>)
      {redfuse.contraction = #redfuse.contraction_plan<wgmma, warps = [8, 1], instructions = [1, 16], slabs = 2, stages = 4, splits = 1>}
  return
}
redfuse.kernel @product_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [4, 1, 0]>} {
^bb0(%a: tensor<4097x2048xbf16>, %b: tensor<2048x4096xbf16>, %init: tensor<4097x4096xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<4097x2048xbf16>, tensor<2048x4096xbf16>) outs(%init : tensor<4097x4096xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %p = arith.mulf %u, %v : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4097x4096xf32>
  redfuse.yield %r : tensor<4097x4096xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#y = affine_map<(i, j) -> (i)>

// By threads; an extent that is not known counts as 1024.
// CHECK-LABEL: func.func @rows
// CHECK: redfuse.predicted = #redfuse.predicted_time<total = {{[1-9][0-9]+}}, launch = {{[1-9][0-9]+}}, memory = {{[1-9][0-9]*}}, matrix = 0, vector = {{[1-9][0-9]*}}, blocks = 512>
func.func @rows(%x: memref<?x256xf32>, %y: memref<?xf32>) {
  redfuse.launch @rows_0 ins(%x : memref<?x256xf32>) outs(%y : memref<?xf32>)
  return
}
redfuse.kernel @rows_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [2, 0]>} {
^bb0(%x: tensor<?x256xf32>, %init: tensor<?xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #y]} ins(%x : tensor<?x256xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%v: f32):
    %e = math.exp %v : f32
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<?xf32>
  redfuse.yield %r : tensor<?xf32>
}
