// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s

// Eight blocks, one cluster, have a split each. Before the kernel waits for the one
// before it, a thread of each asks the cache for the first tiles of its split. Each
// sends every row of its states to the block that finishes it; nothing goes through
// global memory.

// CHECK-LABEL: func.func @weighted
// CHECK-NOT: redfuse.counters
// CHECK: gpu.launch_func @redfuse_gpu::@weighted_0
// CHECK-LABEL: gpu.func @weighted_0
// CHECK-SAME: nvvm.cluster_dim = array<i32: 8, 1, 1>
// A second block finds a place on a multiprocessor.
// CHECK: scf.for
// CHECK: tile.prefetch
// CHECK: tile.prefetch
// CHECK: griddepcontrol.wait
// CHECK-NOT: tile.prefetch
// CHECK: tile.roles of %{{.+}} registers 128
// CHECK: tile.copy
// The next kernel's blocks may come when all copies are under way.
// CHECK: griddepcontrol.launch_dependents
// CHECK: tile.multiply
// All blocks have set up the barrier that counts what comes.
// CHECK: barrier.cluster.wait.acquire
// Rows that are finished.
// CHECK: arith.cmpi ult
// CHECK: tile.address_in %{{.+}} block %{{[0-9a-z]+}}
// CHECK: st.async{{.+}}mbarrier::complete_tx
// A row of a warp: others have none. It waits for all bytes of the eight.
// CHECK: scf.if
// CHECK: tile.wait_barrier
// CHECK: tile.load
// CHECK-NOT: tile.load cluster
// CHECK: arith.addf
// CHECK-NOT: llvm.atomicrmw
// CHECK: vector.store {{.+}} : memref<8x64xbf16>
// None ends before it has all; nobody waits for another's end.
// CHECK-NOT: barrier.cluster
// CHECK: gpu.return
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
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [8, 128, 0, 0], stream = [1], hints = {ahead = 2, cluster = 8, splits = 8}>} {
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

// -----

// Four clusters of four: what a block has merged of its cluster is stored, and the last
// block that has the same rows merges the clusters.

// CHECK-LABEL: func.func @clusters
// CHECK: %[[COUNTERS:.+]] = arith.muli %{{.+}}, %c4
// CHECK: memref.alloc(%[[COUNTERS]]) {alignment = 64 : i64, redfuse.counters}
// CHECK-LABEL: gpu.func @clusters_0
// CHECK-SAME: nvvm.cluster_dim = array<i32: 4, 1, 1>
// CHECK: barrier.cluster.wait.acquire
// CHECK: st.async
// CHECK: tile.wait_barrier
// CHECK: memref.store {{.+}} : memref<8xf32>
// CHECK: vector.store {{.+}} : memref<8x64xf32>, vector<2xf32>
// CHECK: atom.acq_rel.gpu.global.inc.u32
// CHECK: vector.load {{.+}} : memref<8x64xf32>, vector<2xf32>
// CHECK: arith.addf
// CHECK: vector.store {{.+}} : memref<8x64xbf16>
// CHECK: gpu.return
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#s = affine_map<(i, j, d, e) -> (i, e)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000>} {
func.func @clusters(%q: memref<8x64xbf16>, %k: memref<8192x64xbf16>, %v: memref<8192x64xbf16>, %out: memref<8x64xbf16>) {
  redfuse.launch @clusters_0 ins(%q, %k, %v : memref<8x64xbf16>, memref<8192x64xbf16>, memref<8192x64xbf16>)
      outs(%out : memref<8x64xbf16>)
  return
}
redfuse.kernel @clusters_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [8, 128, 0, 0], stream = [1], hints = {cluster = 4, splits = 16}>} {
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

// -----

// States of eight blocks move to the pivot that all agree on, once each: eight powers,
// where a tree of merges has fourteen. Columns are sent by fours.

// CHECK-LABEL: gpu.func @pivots_0
// CHECK: st.async{{.+}}v2.f32
// CHECK-COUNT-4: st.async{{.+}}v4.f32
// CHECK-NOT: st.async
// CHECK: tile.wait_barrier
// CHECK-COUNT-7: arith.maximumf
// CHECK-NOT: arith.maximumf
// CHECK-COUNT-8: ex2.approx
// CHECK-NOT: ex2.approx
// CHECK: vector.store {{.+}} : memref<8x64xbf16>
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#s = affine_map<(i, j, d, e) -> (i, e)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000>} {
func.func @pivots(%q: memref<8x64xbf16>, %k: memref<8192x64xbf16>, %v: memref<8192x64xbf16>, %out: memref<8x64xbf16>) {
  redfuse.launch @pivots_0 ins(%q, %k, %v : memref<8x64xbf16>, memref<8192x64xbf16>, memref<8192x64xbf16>)
      outs(%out : memref<8x64xbf16>)
  return
}
redfuse.kernel @pivots_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [8, 128, 0, 0], stream = [1], hints = {cluster = 8, splits = 8}>} {
^bb0(%q: tensor<8x64xbf16>, %k: tensor<8192x64xbf16>, %v: tensor<8192x64xbf16>, %init: tensor<8x64xbf16>):
  %m0 = tensor.empty() : tensor<8xf32>
  %o0 = tensor.empty() : tensor<8x64xf32>
  %state:2 = redfuse.fold {identities = [0xFF800000 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #r, #s], over = array<i64: 1>}
      ins(%q, %k, %v : tensor<8x64xbf16>, tensor<8192x64xbf16>, tensor<8192x64xbf16>)
      outs(%m0, %o0 : tensor<8xf32>, tensor<8x64xf32>) step {
  ^bb0(%a: bf16, %b: bf16, %c: bf16, %m: f32, %o: f32):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %xy = arith.mulf %x, %y : f32
    %z = redfuse.reduce add %xy over [2] into [0, 1] : f32
    %top = redfuse.reduce maximumf %z over [1] into [0] : f32
    %mn = arith.maximumf %m, %top : f32
    %d = arith.subf %m, %mn : f32
    %move = math.exp %d {redfuse.pivot} : f32
    %e = arith.subf %z, %mn : f32
    %p = math.exp %e {redfuse.pivot} : f32
    %w = arith.extf %c : bf16 to f32
    %pw = arith.mulf %p, %w : f32
    %sum = redfuse.reduce add %pw over [1] into [0, 3] {redfuse.narrowed = bf16} : f32
    %om = arith.mulf %o, %move : f32
    %on = arith.addf %om, %sum : f32
    redfuse.yield %mn, %on : f32, f32
  } merge {
  ^bb0(%ma: f32, %oa: f32, %mb: f32, %ob: f32):
    %mn = arith.maximumf %ma, %mb : f32
    %da = arith.subf %ma, %mn : f32
    %ea = math.exp %da {redfuse.pivot} : f32
    %db = arith.subf %mb, %mn : f32
    %eb = math.exp %db {redfuse.pivot} : f32
    %pa = arith.mulf %oa, %ea : f32
    %pb = arith.mulf %ob, %eb : f32
    %on = arith.addf %pa, %pb : f32
    redfuse.yield %mn, %on : f32, f32
  } -> tensor<8xf32>, tensor<8x64xf32>
  %res = redfuse.finalize {indexing_maps = [#s, #s]} ins(%state#1 : tensor<8x64xf32>)
      outs(%init : tensor<8x64xbf16>) {
  ^bb0(%o: f32):
    %t = arith.truncf %o : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<8x64xbf16>
  redfuse.yield %res : tensor<8x64xbf16>
}
}
