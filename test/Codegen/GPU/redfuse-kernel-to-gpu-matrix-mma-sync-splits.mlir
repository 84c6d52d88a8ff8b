// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90 -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s

// One tile of results, and a stream of 128 steps: how many blocks have splits of it is
// priced by one model for all. Where warps copy and multiply in turn, blocks have fewer
// steps each, and no cluster; with more of them, merging would take longer than the steps.

// CHECK-LABEL: func.func @weighted
// CHECK: %[[SEGMENTS:.+]] = arith.constant 32 : index
// CHECK: %[[BLOCKS:.+]] = arith.muli %{{.+}}, %[[SEGMENTS]]
// CHECK: gpu.launch_func @redfuse_gpu::@weighted_0 blocks in (%[[BLOCKS]],
// CHECK-LABEL: gpu.func @weighted_0
// CHECK-NOT: nvvm.cluster_dim
// CHECK: atom.acq_rel.gpu.global.inc.u32
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#s = affine_map<(i, j, d, e) -> (i, e)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000>} {
func.func @weighted(%q: memref<8x64xbf16>, %k: memref<8192x64xbf16>, %v: memref<8192x64xbf16>, %out: memref<8x64xbf16>) {
  redfuse.launch @weighted_0 ins(%q, %k, %v : memref<8x64xbf16>, memref<8192x64xbf16>, memref<8192x64xbf16>)
      outs(%out : memref<8x64xbf16>)
  return
}
redfuse.kernel @weighted_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [8, 128, 0, 0], stream = [1]>} {
^bb0(%q: tensor<8x64xbf16>, %k: tensor<8192x64xbf16>, %v: tensor<8192x64xbf16>, %init: tensor<8x64xbf16>):
  %l0 = tensor.empty() : tensor<8xf32>
  %o0 = tensor.empty() : tensor<8x64xf32>
  %state:2 = redfuse.fold {identities = [0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #r, #s], over = array<i64: 1>}
      ins(%q, %k, %v : tensor<8x64xbf16>, tensor<8192x64xbf16>, tensor<8192x64xbf16>)
      outs(%l0, %o0 : tensor<8xf32>, tensor<8x64xf32>) step {
  ^bb0(%a: bf16, %b: bf16, %c: bf16, %l: f32, %o: f32):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %m = redfuse.reduce add %xy over [2] into [0, 1] : f32
    %p = math.exp %m : f32
    %ps = redfuse.reduce add %p over [1] into [0] : f32
    %ln = arith.addf %l, %ps : f32
    %z = arith.extf %c : bf16 to f32
    %pz = arith.mulf %p, %z : f32
    %po = redfuse.reduce add %pz over [1] into [0, 3] {redfuse.narrowed = bf16} : f32
    %on = arith.addf %o, %po : f32
    redfuse.yield %ln, %on : f32, f32
  } merge {
  ^bb0(%la: f32, %oa: f32, %lb: f32, %ob: f32):
    %ln = arith.addf %la, %lb : f32
    %on = arith.addf %oa, %ob : f32
    redfuse.yield %ln, %on : f32, f32
  } -> tensor<8xf32>, tensor<8x64xf32>
  %res = redfuse.finalize {indexing_maps = [#r, #s, #s]} ins(%state#0, %state#1 : tensor<8xf32>, tensor<8x64xf32>)
      outs(%init : tensor<8x64xbf16>) {
  ^bb0(%l: f32, %o: f32):
    %n = arith.divf %o, %l : f32
    %t = arith.truncf %n : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<8x64xbf16>
  redfuse.yield %res : tensor<8x64xbf16>
}
}

