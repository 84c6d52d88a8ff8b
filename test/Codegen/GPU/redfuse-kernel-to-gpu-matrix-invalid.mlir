// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file -verify-diagnostics | FileCheck %s

// What matrix units do not run, and why; another generator takes each.

// A left operand that the source does not round is not rounded.
// CHECK-LABEL: gpu.func @wide_0
// CHECK-NOT: tile.multiply
#s = affine_map<(i, j, e) -> (i, j)>
#v = affine_map<(i, j, e) -> (j, e)>
#o = affine_map<(i, j, e) -> (i, e)>
func.func @wide(%s: memref<256x512xf32>, %v: memref<512x64xbf16>, %out: memref<256x64xf32>) {
  redfuse.launch @wide_0 ins(%s, %v : memref<256x512xf32>, memref<512x64xbf16>) outs(%out : memref<256x64xf32>)
  return
}
// expected-remark @below {{does not run on matrix units: the left operand of a product has more digits than the right one}}
redfuse.kernel @wide_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0], stream = [1]>} {
^bb0(%s: tensor<256x512xf32>, %v: tensor<512x64xbf16>, %init: tensor<256x64xf32>):
  %o0 = tensor.empty() : tensor<256x64xf32>
  %state = redfuse.fold {identities = [0.0 : f32], indexing_maps = [#s, #v, #o], over = array<i64: 1>}
      ins(%s, %v : tensor<256x512xf32>, tensor<512x64xbf16>) outs(%o0 : tensor<256x64xf32>) step {
  ^bb0(%x: f32, %c: bf16, %o: f32):
    %z = arith.extf %c : bf16 to f32
    %pz = arith.mulf %x, %z : f32
    // expected-remark @below {{no matrix instructions for this sum of products: sm_90a has no matrix instruction for sums in f32 of products of f32 and bf16}}
    %po = redfuse.reduce add %pz over [1] into [0, 2] : f32
    %on = arith.addf %o, %po : f32
    redfuse.yield %on : f32
  } merge {
  ^bb0(%oa: f32, %ob: f32):
    %on = arith.addf %oa, %ob : f32
    redfuse.yield %on : f32
  } -> tensor<256x64xf32>
  %res = redfuse.finalize {indexing_maps = [#o, #o]} ins(%state : tensor<256x64xf32>) outs(%init : tensor<256x64xf32>) {
  ^bb0(%o: f32):
    redfuse.yield %o : f32
  } -> tensor<256x64xf32>
  redfuse.yield %res : tensor<256x64xf32>
}
