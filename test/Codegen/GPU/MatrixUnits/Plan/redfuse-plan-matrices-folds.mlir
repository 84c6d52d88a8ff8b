// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices -split-input-file | FileCheck %s

// Folds that make their products of tiles of long sums, step by step.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#r = affine_map<(m, n, k) -> (m)>

// Steps as wide as can be, several rounds of splits of the columns, whose blocks have few rows
// between them, and pairs of rows that copy the columns for each other.
// CHECK-LABEL: func @vocabulary
// CHECK: tiles = [128, 256, 0], consumers = 2, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 167, cluster = 1
// CHECK-SAME: cached = 16
// CHECK-SAME: cluster_shape = [2, 1]>
func.func @vocabulary(%a: memref<8192x4096xbf16>, %b: memref<128256x4096xbf16>, %out: memref<8192xf32>) {
  redfuse.launch @vocabulary_0 ins(%a, %b : memref<8192x4096xbf16>, memref<128256x4096xbf16>) outs(%out : memref<8192xf32>)
  return
}
redfuse.kernel @vocabulary_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0], stream = [1]>} {
^bb0(%a: tensor<8192x4096xbf16>, %b: tensor<128256x4096xbf16>, %init: tensor<8192xf32>):
  %e = tensor.empty() : tensor<8192xf32>
  %state = redfuse.fold {identities = [0.0 : f32], indexing_maps = [#a, #b, #r], over = array<i64: 1>}
      ins(%a, %b : tensor<8192x4096xbf16>, tensor<128256x4096xbf16>) outs(%e : tensor<8192xf32>) step {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %uv = arith.mulf %u, %v : f32
    %p = redfuse.reduce add %uv over [2] into [0, 1] : f32
    %q = math.exp %p : f32
    %t = redfuse.reduce add %q over [1] into [0] : f32
    %n = arith.addf %s, %t : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%x: f32, %y: f32):
    %n = arith.addf %x, %y : f32
    redfuse.yield %n : f32
  } -> tensor<8192xf32>
  %out = redfuse.finalize {indexing_maps = [#r, #r]} ins(%state : tensor<8192xf32>) outs(%init : tensor<8192xf32>) {
  ^bb0(%x: f32):
    redfuse.yield %x : f32
  } -> tensor<8192xf32>
  redfuse.yield %out : tensor<8192xf32>
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#r = affine_map<(m, n, k) -> (m)>

// Few columns are cut for more blocks; of an odd number of tiles of rows, and of short sums, none
// copies for others.
// CHECK-LABEL: func @few
// CHECK: tiles = [128, 64, 0], consumers = 2, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 10, cluster = 1
// CHECK-NOT: cluster_shape
func.func @few(%a: memref<300x320xbf16>, %b: memref<600x320xbf16>, %out: memref<300xf32>) {
  redfuse.launch @few_0 ins(%a, %b : memref<300x320xbf16>, memref<600x320xbf16>) outs(%out : memref<300xf32>)
  return
}
redfuse.kernel @few_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0], stream = [1]>} {
^bb0(%a: tensor<300x320xbf16>, %b: tensor<600x320xbf16>, %init: tensor<300xf32>):
  %e = tensor.empty() : tensor<300xf32>
  %state = redfuse.fold {identities = [0.0 : f32], indexing_maps = [#a, #b, #r], over = array<i64: 1>}
      ins(%a, %b : tensor<300x320xbf16>, tensor<600x320xbf16>) outs(%e : tensor<300xf32>) step {
  ^bb0(%x: bf16, %y: bf16, %s: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %uv = arith.mulf %u, %v : f32
    %p = redfuse.reduce add %uv over [2] into [0, 1] : f32
    %q = math.exp %p : f32
    %t = redfuse.reduce add %q over [1] into [0] : f32
    %n = arith.addf %s, %t : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%x: f32, %y: f32):
    %n = arith.addf %x, %y : f32
    redfuse.yield %n : f32
  } -> tensor<300xf32>
  %out = redfuse.finalize {indexing_maps = [#r, #r]} ins(%state : tensor<300xf32>) outs(%init : tensor<300xf32>) {
  ^bb0(%x: f32):
    redfuse.yield %x : f32
  } -> tensor<300xf32>
  redfuse.yield %out : tensor<300xf32>
}
