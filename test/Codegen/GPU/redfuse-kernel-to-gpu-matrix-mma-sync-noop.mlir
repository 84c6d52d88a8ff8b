// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu -verify-diagnostics | FileCheck %s

// What warps do not copy and multiply: sums of 512 in each step, whose left operand
// shared memory does not keep. Their instructions are used one by one.

// CHECK-LABEL: gpu.func @weighted_rows_0
// CHECK-NOT: tile.copy_rows
// CHECK: tile.mma
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
func.func @weighted_rows(%q: memref<256x512xbf16>, %k: memref<512x512xbf16>, %v: memref<512x64xbf16>, %out: memref<256x64xbf16>) {
  redfuse.launch @weighted_rows_0 ins(%q, %k, %v : memref<256x512xbf16>, memref<512x512xbf16>, memref<512x64xbf16>)
      outs(%out : memref<256x64xbf16>)
  return
}
// expected-remark @below {{does not run on matrix units: a sum of a step is too long to be kept}}
redfuse.kernel @weighted_rows_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0, 0], stream = [1]>} {
^bb0(%q: tensor<256x512xbf16>, %k: tensor<512x512xbf16>, %v: tensor<512x64xbf16>, %init: tensor<256x64xbf16>):
  %l0 = tensor.empty() : tensor<256xf32>
  %o0 = tensor.empty() : tensor<256x64xf32>
  %state:2 = redfuse.fold {identities = [0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #r, #o], over = array<i64: 1>}
      ins(%q, %k, %v : tensor<256x512xbf16>, tensor<512x512xbf16>, tensor<512x64xbf16>)
      outs(%l0, %o0 : tensor<256xf32>, tensor<256x64xf32>) step {
  ^bb0(%a: bf16, %b: bf16, %c: bf16, %l: f32, %o: f32):
    %low = arith.constant 0xFF800000 : f32
    %i = redfuse.index 0
    %j = redfuse.index 1
    %below = arith.cmpi sge, %i, %j : index
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %xy over [2] into [0, 1] : f32
    %m = arith.select %below, %s, %low : f32
    %p = math.exp %m : f32
    %ps = redfuse.reduce add %p over [1] into [0] : f32
    %ln = arith.addf %l, %ps : f32
    %z = arith.extf %c : bf16 to f32
    %pz = arith.mulf %p, %z : f32
    // expected-remark @below {{no matrix instructions for this sum of products: sm_80 has no matrix instruction for sums in f32 of products of f32 and bf16}}
    %po = redfuse.reduce add %pz over [1] into [0, 3] {redfuse.narrowed = bf16} : f32
    %on = arith.addf %o, %po : f32
    redfuse.yield %ln, %on : f32, f32
  } merge {
  ^bb0(%la: f32, %oa: f32, %lb: f32, %ob: f32):
    %ln = arith.addf %la, %lb : f32
    %on = arith.addf %oa, %ob : f32
    redfuse.yield %ln, %on : f32, f32
  } -> tensor<256xf32>, tensor<256x64xf32>
  %res = redfuse.finalize {indexing_maps = [#r, #o, #o]} ins(%state#0, %state#1 : tensor<256xf32>, tensor<256x64xf32>)
      outs(%init : tensor<256x64xbf16>) {
  ^bb0(%l: f32, %o: f32):
    %n = arith.divf %o, %l : f32
    %t = arith.truncf %n : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<256x64xbf16>
  redfuse.yield %res : tensor<256x64xbf16>
}
