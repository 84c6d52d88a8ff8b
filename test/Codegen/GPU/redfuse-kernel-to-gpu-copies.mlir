// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90 -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s

// 16 threads have the 128 elements of a key, agree on its score by four shuffles, and so have four
// copies of the scores of four keys: each of four neighbours takes the hyperbolic tangent of another
// one, and gets the others'.

// CHECK-LABEL: gpu.func @capped_0
// CHECK-COUNT-16: gpu.shuffle  xor
// CHECK: arith.select
// CHECK: math.tanh
// CHECK-COUNT-4: gpu.shuffle  idx
// CHECK-NOT: math.tanh
// CHECK: gpu.return
#q = affine_map<(i, n, d) -> (i, d)>
#k = affine_map<(i, n, d) -> (i, n, d)>
#s = affine_map<(i, n, d) -> (i)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 128,
    l1 = 232448, l2 = 52428800, flops = 67000, bandwidth = 3300, launch_ns = 2000>} {
func.func @capped(%q: memref<512x128xbf16>, %k: memref<512x4096x128xbf16>, %out: memref<512xf32>) {
  redfuse.launch @capped_0 ins(%q, %k : memref<512x128xbf16>, memref<512x4096x128xbf16>)
      outs(%out : memref<512xf32>)
  return
}
redfuse.kernel @capped_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 64, 128], stream = [1]>} {
^bb0(%q: tensor<512x128xbf16>, %k: tensor<512x4096x128xbf16>, %init: tensor<512xf32>):
  %s0 = tensor.empty() : tensor<512xf32>
  %st = redfuse.fold {indexing_maps = [#q, #k, #s], over = array<i64: 1>,
            identities = [0.000000e+00 : f32]}
          ins(%q, %k : tensor<512x128xbf16>, tensor<512x4096x128xbf16>) outs(%s0 : tensor<512xf32>)
  step {
  ^bb0(%a: bf16, %b: bf16, %s: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = redfuse.reduce add %2 over [2] into [0, 1] : f32
    %4 = math.tanh %3 : f32
    %5 = redfuse.reduce add %4 over [1] into [0] : f32
    %6 = arith.addf %s, %5 : f32
    redfuse.yield %6 : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    redfuse.yield %0 : f32
  } -> tensor<512xf32>
  %0 = redfuse.finalize {indexing_maps = [#s, #s]}
       ins(%st : tensor<512xf32>) outs(%init : tensor<512xf32>) {
  ^bb0(%s: f32):
    redfuse.yield %s : f32
  } -> tensor<512xf32>
  redfuse.yield %0 : tensor<512xf32>
}
}

// -----

// An exponential is one instruction and a product: every thread computes those it needs.

// CHECK-LABEL: gpu.func @weighted_0
// CHECK-COUNT-4: math.exp
// CHECK-NOT: gpu.shuffle  idx
// CHECK: gpu.return
#q = affine_map<(i, n, d) -> (i, d)>
#k = affine_map<(i, n, d) -> (i, n, d)>
#s = affine_map<(i, n, d) -> (i)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 128,
    l1 = 232448, l2 = 52428800, flops = 67000, bandwidth = 3300, launch_ns = 2000>} {
func.func @weighted(%q: memref<512x128xbf16>, %k: memref<512x4096x128xbf16>, %out: memref<512xf32>) {
  redfuse.launch @weighted_0 ins(%q, %k : memref<512x128xbf16>, memref<512x4096x128xbf16>)
      outs(%out : memref<512xf32>)
  return
}
redfuse.kernel @weighted_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 64, 128], stream = [1]>} {
^bb0(%q: tensor<512x128xbf16>, %k: tensor<512x4096x128xbf16>, %init: tensor<512xf32>):
  %s0 = tensor.empty() : tensor<512xf32>
  %st = redfuse.fold {indexing_maps = [#q, #k, #s], over = array<i64: 1>,
            identities = [0.000000e+00 : f32]}
          ins(%q, %k : tensor<512x128xbf16>, tensor<512x4096x128xbf16>) outs(%s0 : tensor<512xf32>)
  step {
  ^bb0(%a: bf16, %b: bf16, %s: f32):
    %0 = arith.extf %a : bf16 to f32
    %1 = arith.extf %b : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = redfuse.reduce add %2 over [2] into [0, 1] : f32
    %4 = math.exp %3 : f32
    %5 = redfuse.reduce add %4 over [1] into [0] : f32
    %6 = arith.addf %s, %5 : f32
    redfuse.yield %6 : f32
  } merge {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    redfuse.yield %0 : f32
  } -> tensor<512xf32>
  %0 = redfuse.finalize {indexing_maps = [#s, #s]}
       ins(%st : tensor<512xf32>) outs(%init : tensor<512xf32>) {
  ^bb0(%s: f32):
    redfuse.yield %s : f32
  } -> tensor<512xf32>
  redfuse.yield %0 : tensor<512xf32>
}
}
