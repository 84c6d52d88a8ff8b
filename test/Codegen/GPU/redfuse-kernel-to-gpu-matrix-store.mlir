// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s

// Results that go through shared memory where that is asked for: every warp has a
// part of its own, copies boxes of it, and goes on.

// CHECK-LABEL: func.func @weighted_rows
// CHECK-COUNT-4: call @redfuse_rt_tensor_map
// CHECK-LABEL: gpu.func @weighted_rows_0
// CHECK: tile.wait_copies 0
// CHECK: nvvm.bar.warp.sync
// CHECK-COUNT-4: tile.store_block
// CHECK: tile.fence_copies
// CHECK: nvvm.bar.warp.sync
// CHECK: tile.copy_out
// CHECK: tile.commit_copies
// CHECK: tile.wait_copies 0
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 2, vector_bits = 256, l1 = 32768,
    l2 = 1048576, flops = 150, bandwidth = 20, launch_ns = 2000>} {
func.func @weighted_rows(%q: memref<256x64xbf16>, %k: memref<4096x64xbf16>, %v: memref<4096x64xbf16>, %out: memref<256x64xbf16>) {
  redfuse.launch @weighted_rows_0 ins(%q, %k, %v : memref<256x64xbf16>, memref<4096x64xbf16>, memref<4096x64xbf16>)
      outs(%out : memref<256x64xbf16>)
  return
}
redfuse.kernel @weighted_rows_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0, 0], stream = [1], hints = {staged = true}>} {
^bb0(%q: tensor<256x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>, %init: tensor<256x64xbf16>):
  %r0 = tensor.empty() : tensor<256xf32>
  %o0 = tensor.empty() : tensor<256x64xf32>
  %state:3 = redfuse.fold {identities = [0xFF800000 : f32, 0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #r, #r, #o],
      over = array<i64: 1>}
      ins(%q, %k, %v : tensor<256x64xbf16>, tensor<4096x64xbf16>, tensor<4096x64xbf16>)
      outs(%r0, %r0, %o0 : tensor<256xf32>, tensor<256xf32>, tensor<256x64xf32>) step {
  ^bb0(%a: bf16, %b: bf16, %c: bf16, %m: f32, %l: f32, %o: f32):
    %scale = arith.constant 0.25 : f32
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %xy over [2] into [0, 1] : f32
    %t = arith.mulf %s, %scale : f32
    %top = redfuse.reduce maximumf %t over [1] into [0] : f32
    %mn = arith.maximumf %m, %top : f32
    %old = arith.subf %m, %mn : f32
    %alpha = math.exp %old : f32
    %d = arith.subf %t, %mn : f32
    %p = math.exp %d : f32
    %ps = redfuse.reduce add %p over [1] into [0] : f32
    %la = arith.mulf %l, %alpha : f32
    %ln = arith.addf %la, %ps : f32
    %z = arith.extf %c : bf16 to f32
    %pz = arith.mulf %p, %z : f32
    %po = redfuse.reduce add %pz over [1] into [0, 3] {redfuse.narrowed = bf16} : f32
    %oa = arith.mulf %o, %alpha : f32
    %on = arith.addf %oa, %po : f32
    redfuse.yield %mn, %ln, %on : f32, f32, f32
  } merge {
  ^bb0(%ma: f32, %la: f32, %oa: f32, %mb: f32, %lb: f32, %ob: f32):
    %m = arith.maximumf %ma, %mb : f32
    %da = arith.subf %ma, %m : f32
    %ea = math.exp %da : f32
    %db = arith.subf %mb, %m : f32
    %eb = math.exp %db : f32
    %lx = arith.mulf %la, %ea : f32
    %ly = arith.mulf %lb, %eb : f32
    %l = arith.addf %lx, %ly : f32
    %ox = arith.mulf %oa, %ea : f32
    %oy = arith.mulf %ob, %eb : f32
    %o = arith.addf %ox, %oy : f32
    redfuse.yield %m, %l, %o : f32, f32, f32
  } -> tensor<256xf32>, tensor<256xf32>, tensor<256x64xf32>
  %res = redfuse.finalize {indexing_maps = [#r, #o, #o]} ins(%state#1, %state#2 : tensor<256xf32>, tensor<256x64xf32>)
      outs(%init : tensor<256x64xbf16>) {
  ^bb0(%l: f32, %o: f32):
    %n = arith.divf %o, %l : f32
    %t = arith.truncf %n : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<256x64xbf16>
  redfuse.yield %res : tensor<256x64xbf16>
}
}
