// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu -redfuse-lower-to-nvvm -split-input-file | FileCheck %s --check-prefix=NVVM

// 32 tiles of rows and a long sum: clusters of four blocks share the sum of a tile. Each
// stores its partial sum, and finishes a quarter of the rows, with eight threads a row.

// CHECK-LABEL: func.func @largest
// CHECK: %[[BLOCKS:.+]] = arith.muli %{{.+}}, %c4{{.*}} : index
// CHECK: gpu.launch_func @redfuse_gpu::@largest_0 blocks in (%[[BLOCKS]],
// CHECK-LABEL: gpu.func @largest_0
// CHECK-SAME: nvvm.cluster_dim = array<i32: 4, 1, 1>
// Four steps' tiles are asked for before the launch waits for the one before it; the next
// one's blocks come when all copies are under way.
// CHECK: %[[STEPS:.+]] = arith.minui %{{.+}}, %c4
// CHECK: scf.for %{{.+}} = %c0{{.*}} to %[[STEPS]]
// CHECK: tile.prefetch
// CHECK: griddepcontrol.wait
// The loader's tiles of the sum: every fourth.
// CHECK: tile.copy
// CHECK: griddepcontrol.launch_dependents
// CHECK: tile.multiply {{.+}} -> !tile.accumulators<64x64xf32>
// All products of the block are done, before their memory is used for sums.
// CHECK: tile.synchronize
// CHECK: tile.store
// CHECK: tile.synchronize_cluster
// CHECK: tile.address_in
// CHECK: tile.load cluster
// What others have is read: they need not wait for what follows.
// CHECK: @p nanosleep
// CHECK: barrier.cluster.arrive.relaxed
// CHECK: arith.maximumf
// CHECK: nvvm.shfl.sync bfly
// CHECK: ex2.approx.ftz.f32
// Rank after rank, the largest of what is left.
// CHECK: scf.for %{{.+}} = %c0{{.*}} to %c6
// CHECK: arith.cmpi sgt
// CHECK: nvvm.shfl.sync bfly
// CHECK: scf.yield
// CHECK: vector.store {{.+}} : memref<2048x6xf32>, vector<2xf32>
// CHECK: vector.store {{.+}} : memref<2048x6xi64>, vector<2xi64>
// CHECK: barrier.cluster.wait
// CHECK: gpu.return

// NVVM-LABEL: llvm.func @largest_0
// NVVM-SAME: nvvm.cluster_dim = array<i32: 4, 1, 1>
#a = affine_map<(m, n, r, k) -> (m, k)>
#b = affine_map<(m, n, r, k) -> (k, n)>
#o = affine_map<(m, n, r, k) -> (m, r)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000>} {
func.func @largest(%x: memref<2048x8192xbf16>, %w: memref<8192x64xbf16>, %v: memref<2048x6xf32>, %i: memref<2048x6xi64>) {
  redfuse.launch @largest_0 ins(%x, %w : memref<2048x8192xbf16>, memref<8192x64xbf16>)
      outs(%v, %i : memref<2048x6xf32>, memref<2048x6xi64>)
  return
}
redfuse.kernel @largest_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [16, 0, 0, 0]>} {
^bb0(%x: tensor<2048x8192xbf16>, %w: tensor<8192x64xbf16>, %v: tensor<2048x6xf32>, %i: tensor<2048x6xi64>):
  %r:2 = redfuse.cascade {indexing_maps = [#a, #b, #o, #o]}
      ins(%x, %w : tensor<2048x8192xbf16>, tensor<8192x64xbf16>)
      outs(%v, %i : tensor<2048x6xf32>, tensor<2048x6xi64>) {
  ^bb0(%p: bf16, %q: bf16):
    %1 = arith.extf %p : bf16 to f32
    %2 = arith.extf %q : bf16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = redfuse.reduce add %3 over [3] into [0, 1] : f32
    %5 = redfuse.reduce maximumf %4 over [1] into [0] : f32
    %6 = arith.subf %4, %5 : f32
    %7 = math.exp %6 : f32
    %8 = redfuse.reduce add %7 over [1] into [0] : f32
    %9 = arith.divf %7, %8 : f32
    %10 = redfuse.index 1
    %11 = arith.index_cast %10 : index to i64
    %12:2 = redfuse.reduce topk %9, %11 over [1] into [0, 2] : f32, i64
    redfuse.yield %12#0, %12#1 : f32, i64
  } -> tensor<2048x6xf32>, tensor<2048x6xi64>
  redfuse.yield %r#0, %r#1 : tensor<2048x6xf32>, tensor<2048x6xi64>
}
}

// -----

// The position of the largest, of a tile for each block: no sum is shared. What is selected is never
// a NaN, so the value goes with its position.

// CHECK-LABEL: gpu.func @position_0
// CHECK-NOT: cluster_dim
// CHECK-NOT: tile.address_in
// CHECK: tile.multiply {{.+}} -> !tile.accumulators<64x16xf32>
// CHECK: arith.cmpf ogt
// CHECK: arith.cmpf oeq
// CHECK: arith.select
// CHECK: nvvm.shfl.sync bfly
// CHECK: memref.store {{.+}} : memref<20000xi64>
// CHECK: gpu.return
#c = affine_map<(m, n, k) -> (m, k)>
#d = affine_map<(m, n, k) -> (k, n)>
#e = affine_map<(m, n, k) -> (m)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000>} {
func.func @position(%x: memref<20000x512xf16>, %w: memref<512x16xf16>, %i: memref<20000xi64>) {
  redfuse.launch @position_0 ins(%x, %w : memref<20000x512xf16>, memref<512x16xf16>) outs(%i : memref<20000xi64>)
  return
}
redfuse.kernel @position_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [16, 0, 0]>} {
^bb0(%x: tensor<20000x512xf16>, %w: tensor<512x16xf16>, %i: tensor<20000xi64>):
  %r = redfuse.cascade {indexing_maps = [#c, #d, #e]}
      ins(%x, %w : tensor<20000x512xf16>, tensor<512x16xf16>) outs(%i : tensor<20000xi64>) {
  ^bb0(%p: f16, %q: f16):
    %1 = arith.extf %p : f16 to f32
    %2 = arith.extf %q : f16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = redfuse.reduce add %3 over [2] into [0, 1] : f32
    %5 = redfuse.index 1
    %6 = arith.index_cast %5 : index to i64
    %7:2 = redfuse.reduce argmax %4, %6 over [1] into [0] : f32, i64
    redfuse.yield %7#1 : i64
  } -> tensor<20000xi64>
  redfuse.yield %r : tensor<20000xi64>
}
}

// -----

// Four blocks share a sum. A second block finds a place on a multiprocessor: six stages of
// 16 KiB, where one block alone would have eight.

// CHECK-LABEL: gpu.func @shared_0
// CHECK-SAME: nvvm.cluster_dim = array<i32: 4, 1, 1>
// CHECK: tile.ring {{.+}} : !tile.ring<6 x 16384>
#c = affine_map<(m, n, k) -> (m, k)>
#d = affine_map<(m, n, k) -> (k, n)>
#e = affine_map<(m, n, k) -> (m)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000>} {
func.func @shared(%x: memref<2048x2048xf16>, %w: memref<2048x64xf16>, %i: memref<2048xf32>) {
  redfuse.launch @shared_0 ins(%x, %w : memref<2048x2048xf16>, memref<2048x64xf16>) outs(%i : memref<2048xf32>)
  return
}
redfuse.kernel @shared_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [16, 0, 0], hints = {splits = 4}>} {
^bb0(%x: tensor<2048x2048xf16>, %w: tensor<2048x64xf16>, %i: tensor<2048xf32>):
  %r = redfuse.cascade {indexing_maps = [#c, #d, #e]}
      ins(%x, %w : tensor<2048x2048xf16>, tensor<2048x64xf16>) outs(%i : tensor<2048xf32>) {
  ^bb0(%p: f16, %q: f16):
    %1 = arith.extf %p : f16 to f32
    %2 = arith.extf %q : f16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = redfuse.reduce add %3 over [2] into [0, 1] : f32
    %5 = redfuse.reduce maximumf %4 over [1] into [0] : f32
    redfuse.yield %5 : f32
  } -> tensor<2048xf32>
  redfuse.yield %r : tensor<2048xf32>
}
}

// -----

// One tile of eight rows, and 8192 columns to fold: blocks fold a split each. The last
// one that has stored its states merges them all, four threads or more for a row.

// CHECK-LABEL: func.func @weighted
// CHECK: %[[STATES:.+]] = memref.alloc({{.+}}) {alignment = 64 : i64} : memref<?xi8>
// CHECK: memref.alloc({{.+}}) {alignment = 64 : i64, redfuse.counters} : memref<?xi32>
// CHECK: gpu.launch_func @redfuse_gpu::@weighted_0
// CHECK: memref.dealloc %[[STATES]]
// CHECK-LABEL: gpu.func @weighted_0
// Whole tiles from the split's first on.
// CHECK: tile.copy
// CHECK: tile.multiply {{.+}} -> !tile.accumulators<64x64xf32>
// CHECK: tile.multiply {{.+}} -> !tile.accumulators<64x64xf32>
// CHECK: memref.view
// CHECK: scf.if
// CHECK: memref.store {{.+}} : memref<8xf32>
// CHECK: vector.store {{.+}} : memref<8x64xf32>, vector<2xf32>
// CHECK: tile.synchronize
// CHECK: atom.acq_rel.gpu.global.inc.u32
// CHECK: tile.synchronize
// CHECK: scf.if
// CHECK: scf.for
// CHECK: memref.load {{.+}} : memref<8xf32>
// CHECK: vector.load {{.+}} : memref<8x64xf32>, vector<2xf32>
// CHECK: arith.addf
// CHECK: scf.yield
// CHECK: vector.store {{.+}} : memref<8x64xbf16>, vector<2xbf16>
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
