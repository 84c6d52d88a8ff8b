// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices -split-input-file | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-matrices -split-input-file | FileCheck %s --check-prefix=MMA
// RUN: redfuse-opt %s -redfuse-plan-matrices -split-input-file | FileCheck %s --check-prefix=NONE

// NONE-NOT: redfuse.matrices

// Two products a step. The left operand of the first is the same in all steps:
// registers keep it; that of the second is computed. A predicate makes tiles
// unequal, so blocks ask the scheduler for them.

// CHECK-LABEL: func.func @weighted_rows
// CHECK: redfuse.launch
// CHECK-SAME: #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64],
// CHECK-SAME: consumers = 2, consumer_rows = 64, left = [kept, packed],
// CHECK-SAME: sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = {{[0-9]+}},
// CHECK-SAME: staged = true, scheduler = dynamic, cached = 128, ahead = 0, late = false, threshold = 1>

// Without warpgroups two blocks find a place on a multiprocessor, and what is kept is
// in shared memory.
// MMA-LABEL: func.func @weighted_rows
// MMA: #redfuse.matrix_plan<mma_sync, row_dim = 0, tiles = [128, 64, 64, 64],
// MMA-SAME: consumers = 1, consumer_rows = 128, left = [resident, packed],
// MMA-SAME: blocks = 2, stages = {{[0-9]+}}, staged = false, scheduler = static
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
func.func @weighted_rows(%q: memref<256x64xbf16>, %k: memref<512x64xbf16>, %v: memref<512x64xbf16>, %out: memref<256x64xbf16>) {
  redfuse.launch @weighted_rows_0 ins(%q, %k, %v : memref<256x64xbf16>, memref<512x64xbf16>, memref<512x64xbf16>)
      outs(%out : memref<256x64xbf16>)
  return
}
redfuse.kernel @weighted_rows_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0, 0], stream = [1]>} {
^bb0(%q: tensor<256x64xbf16>, %k: tensor<512x64xbf16>, %v: tensor<512x64xbf16>, %init: tensor<256x64xbf16>):
  %l0 = tensor.empty() : tensor<256xf32>
  %o0 = tensor.empty() : tensor<256x64xf32>
  %state:2 = redfuse.fold {identities = [0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #r, #o], over = array<i64: 1>}
      ins(%q, %k, %v : tensor<256x64xbf16>, tensor<512x64xbf16>, tensor<512x64xbf16>)
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

// -----

// What hints ask for.

// CHECK-LABEL: func.func @hinted
// CHECK: #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 64, 64, 64],
// CHECK-SAME: consumers = 1, consumer_rows = 64, left = [kept, packed],
// CHECK-SAME: stages = 4, staged = false, scheduler = static
// CHECK-SAME: threshold = 0>
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
func.func @hinted(%q: memref<256x64xbf16>, %k: memref<512x64xbf16>, %v: memref<512x64xbf16>, %out: memref<256x64xbf16>) {
  redfuse.launch @hinted_0 ins(%q, %k, %v : memref<256x64xbf16>, memref<512x64xbf16>, memref<512x64xbf16>)
      outs(%out : memref<256x64xbf16>)
  return
}
redfuse.kernel @hinted_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0, 0], stream = [1],
      hints = {columns = 64, threshold = 0, scheduler = static, rows = 64, stages = 4, staged = false}>} {
^bb0(%q: tensor<256x64xbf16>, %k: tensor<512x64xbf16>, %v: tensor<512x64xbf16>, %init: tensor<256x64xbf16>):
  %l0 = tensor.empty() : tensor<256xf32>
  %o0 = tensor.empty() : tensor<256x64xf32>
  %state:2 = redfuse.fold {identities = [0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #r, #o], over = array<i64: 1>}
      ins(%q, %k, %v : tensor<256x64xbf16>, tensor<512x64xbf16>, tensor<512x64xbf16>)
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

// -----

// Few rows: blocks of one cluster have a split of the streamed dim each.

// CHECK-LABEL: func.func @few_rows
// CHECK: #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 64, 64, 64],
// CHECK-SAME: consumers = 1
// CHECK-SAME: sum_splits = 1, splits = 8, cluster = 8, blocks = 2
// CHECK-SAME: scheduler = static, cached = 32, ahead = 1, late = true, threshold = 1>
#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 128, l1 = 99328, l2 = 262144, flops = 53600, bandwidth = 4000, launch_ns = 1600>} {
func.func @few_rows(%q: memref<16x64xbf16>, %k: memref<4096x64xbf16>, %v: memref<4096x64xbf16>, %out: memref<16x64xbf16>) {
  redfuse.launch @few_rows_0 ins(%q, %k, %v : memref<16x64xbf16>, memref<4096x64xbf16>, memref<4096x64xbf16>)
      outs(%out : memref<16x64xbf16>)
  return
}
redfuse.kernel @few_rows_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0, 0], stream = [1]>} {
^bb0(%q: tensor<16x64xbf16>, %k: tensor<4096x64xbf16>, %v: tensor<4096x64xbf16>, %init: tensor<16x64xbf16>):
  %r0 = tensor.empty() : tensor<16xf32>
  %o0 = tensor.empty() : tensor<16x64xf32>
  %state:3 = redfuse.fold {identities = [0xFF800000 : f32, 0.0 : f32, 0.0 : f32], indexing_maps = [#q, #k, #v, #r, #r, #o],
      over = array<i64: 1>}
      ins(%q, %k, %v : tensor<16x64xbf16>, tensor<4096x64xbf16>, tensor<4096x64xbf16>)
      outs(%r0, %r0, %o0 : tensor<16xf32>, tensor<16xf32>, tensor<16x64xf32>) step {
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
  } -> tensor<16xf32>, tensor<16xf32>, tensor<16x64xf32>
  %res = redfuse.finalize {indexing_maps = [#r, #o, #o]} ins(%state#1, %state#2 : tensor<16xf32>, tensor<16x64xf32>)
      outs(%init : tensor<16x64xbf16>) {
  ^bb0(%l: f32, %o: f32):
    %n = arith.divf %o, %l : f32
    %t = arith.truncf %n : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<16x64xbf16>
  redfuse.yield %res : tensor<16x64xbf16>
}
}

// -----

// A long sum passes through the ring; blocks of a cluster share it.

// CHECK-LABEL: func.func @product
// CHECK: #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 64, 0],
// CHECK-SAME: consumers = 1, consumer_rows = 64, left = [tiled], sum_splits = 8,
// CHECK-SAME: ahead = 4, late = true, threshold = 0>
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 128, l1 = 99328, l2 = 262144, flops = 53600, bandwidth = 4000, launch_ns = 1600>} {
func.func @product(%a: memref<300x4096xf16>, %b: memref<4096x64xf16>, %out: memref<300x64xf32>) {
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
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
}

// -----

// Heads of a projection, split: rows and columns are two dims each. Tiles lie along
// those that fill them; of the others a block has one index. Columns are what lies
// side by side in the result.

// CHECK-LABEL: func.func @split_heads
// CHECK: #redfuse.matrix_plan<wgmma, row_dim = 2, tiles = [0, 0, 128, 128, 0],
// CHECK-SAME: left = [tiled]
// MMA-LABEL: func.func @split_heads
// MMA: #redfuse.matrix_plan<mma_sync, row_dim = 2, tiles = [0, 0, 128, 128, 0],
#x = affine_map<(b, h, s, d, k) -> (b, s, k)>
#w = affine_map<(b, h, s, d, k) -> (h, d, k)>
#y = affine_map<(b, h, s, d, k) -> (b, h, s, d)>
func.func @split_heads(%x: memref<4x512x1024xbf16>, %w: memref<8x128x1024xbf16>, %out: memref<4x8x512x128xbf16>) {
  redfuse.launch @split_heads_0 ins(%x, %w : memref<4x512x1024xbf16>, memref<8x128x1024xbf16>)
      outs(%out : memref<4x8x512x128xbf16>)
  return
}
redfuse.kernel @split_heads_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1, 2, 3], tiles = [1, 1, 32, 64, 0]>} {
^bb0(%x: tensor<4x512x1024xbf16>, %w: tensor<8x128x1024xbf16>, %init: tensor<4x8x512x128xbf16>):
  %0 = redfuse.cascade {indexing_maps = [#x, #w, #y]}
       ins(%x, %w : tensor<4x512x1024xbf16>, tensor<8x128x1024xbf16>) outs(%init : tensor<4x8x512x128xbf16>) {
  ^bb0(%a: bf16, %c: bf16):
    %u = arith.extf %a : bf16 to f32
    %v = arith.extf %c : bf16 to f32
    %uv = arith.mulf %u, %v : f32
    %s = redfuse.reduce add %uv over [4] into [0, 1, 2, 3] : f32
    %r = arith.truncf %s : f32 to bf16
    redfuse.yield %r : bf16
  } -> tensor<4x8x512x128xbf16>
  redfuse.yield %0 : tensor<4x8x512x128xbf16>
}

// -----

// A sum over heads and their elements: tiles of the sum lie along the elements, one
// head after another.

// CHECK-LABEL: func.func @joined_heads
// CHECK: #redfuse.matrix_plan<wgmma, row_dim = 1, tiles = [0, 128, 256, 0, 0],
// CHECK-SAME: left = [tiled]
// MMA-LABEL: func.func @joined_heads
// MMA: #redfuse.matrix_plan<mma_sync, row_dim = 1,
#x = affine_map<(b, s, e, h, d) -> (b, h, s, d)>
#w = affine_map<(b, s, e, h, d) -> (e, h, d)>
#y = affine_map<(b, s, e, h, d) -> (b, s, e)>
func.func @joined_heads(%x: memref<4x16x512x128xbf16>, %w: memref<2048x16x128xbf16>, %out: memref<4x512x2048xbf16>) {
  redfuse.launch @joined_heads_0 ins(%x, %w : memref<4x16x512x128xbf16>, memref<2048x16x128xbf16>)
      outs(%out : memref<4x512x2048xbf16>)
  return
}
redfuse.kernel @joined_heads_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1, 2], tiles = [1, 32, 64, 0, 0]>} {
^bb0(%x: tensor<4x16x512x128xbf16>, %w: tensor<2048x16x128xbf16>, %init: tensor<4x512x2048xbf16>):
  %0 = redfuse.cascade {indexing_maps = [#x, #w, #y]}
       ins(%x, %w : tensor<4x16x512x128xbf16>, tensor<2048x16x128xbf16>) outs(%init : tensor<4x512x2048xbf16>) {
  ^bb0(%a: bf16, %c: bf16):
    %u = arith.extf %a : bf16 to f32
    %v = arith.extf %c : bf16 to f32
    %uv = arith.mulf %u, %v : f32
    %s = redfuse.reduce add %uv over [3, 4] into [0, 1, 2] : f32
    %r = arith.truncf %s : f32 to bf16
    redfuse.yield %r : bf16
  } -> tensor<4x512x2048xbf16>
  redfuse.yield %0 : tensor<4x512x2048xbf16>
}

// -----

// Blocks of a cluster with neighbouring tiles copy parts of operands for each other: four where
// the cache's rate limits one round of small tiles, two in several rounds of large ones.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 128, l1 = 99328, l2 = 262144, flops = 53600, bandwidth = 4000, launch_ns = 1600>} {
// CHECK-LABEL: func.func @one_round
// CHECK: tiles = [128, 160, 0]
// CHECK-SAME: cluster_shape = [2, 2]>
func.func @one_round(%a: memref<1280x5312xf16>, %b: memref<5312x1792xf16>, %out: memref<1280x1792xf32>) {
  redfuse.launch @one_round_0 ins(%a, %b : memref<1280x5312xf16>, memref<5312x1792xf16>) outs(%out : memref<1280x1792xf32>)
  return
}
redfuse.kernel @one_round_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [64, 64, 0]>} {
^bb0(%a: tensor<1280x5312xf16>, %b: tensor<5312x1792xf16>, %init: tensor<1280x1792xf32>):
  %0 = redfuse.cascade {indexing_maps = [#a, #b, #c]}
       ins(%a, %b : tensor<1280x5312xf16>, tensor<5312x1792xf16>) outs(%init : tensor<1280x1792xf32>) {
  ^bb0(%x: f16, %y: f16):
    %u = arith.extf %x : f16 to f32
    %w = arith.extf %y : f16 to f32
    %uw = arith.mulf %u, %w : f32
    %s = redfuse.reduce add %uw over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<1280x1792xf32>
  redfuse.yield %0 : tensor<1280x1792xf32>
}

// CHECK-LABEL: func.func @rounds
// CHECK: tiles = [128, 256, 0]
// CHECK-SAME: cluster_shape = [2, 1]>
func.func @rounds(%a: memref<8192x4096xf16>, %b: memref<4096x4096xf16>, %out: memref<8192x4096xf32>) {
  redfuse.launch @rounds_0 ins(%a, %b : memref<8192x4096xf16>, memref<4096x4096xf16>) outs(%out : memref<8192x4096xf32>)
  return
}
redfuse.kernel @rounds_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [64, 64, 0]>} {
^bb0(%a: tensor<8192x4096xf16>, %b: tensor<4096x4096xf16>, %init: tensor<8192x4096xf32>):
  %0 = redfuse.cascade {indexing_maps = [#a, #b, #c]}
       ins(%a, %b : tensor<8192x4096xf16>, tensor<4096x4096xf16>) outs(%init : tensor<8192x4096xf32>) {
  ^bb0(%x: f16, %y: f16):
    %u = arith.extf %x : f16 to f32
    %w = arith.extf %y : f16 to f32
    %uw = arith.mulf %u, %w : f32
    %s = redfuse.reduce add %uw over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<8192x4096xf32>
  redfuse.yield %0 : tensor<8192x4096xf32>
}
}

// -----

// What does not fit says why.

// CHECK-LABEL: func.func @wide
// CHECK: redfuse.no_matrices = "the left operand of a product has more digits than the right one"
#s = affine_map<(i, j, e) -> (i, j)>
#v = affine_map<(i, j, e) -> (j, e)>
#o = affine_map<(i, j, e) -> (i, e)>
func.func @wide(%s: memref<256x512xf32>, %v: memref<512x64xbf16>, %out: memref<256x64xf32>) {
  redfuse.launch @wide_0 ins(%s, %v : memref<256x512xf32>, memref<512x64xbf16>) outs(%out : memref<256x64xf32>)
  return
}
redfuse.kernel @wide_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [16, 128, 0], stream = [1]>} {
^bb0(%s: tensor<256x512xf32>, %v: tensor<512x64xbf16>, %init: tensor<256x64xf32>):
  %o0 = tensor.empty() : tensor<256x64xf32>
  %state = redfuse.fold {identities = [0.0 : f32], indexing_maps = [#s, #v, #o], over = array<i64: 1>}
      ins(%s, %v : tensor<256x512xf32>, tensor<512x64xbf16>) outs(%o0 : tensor<256x64xf32>) step {
  ^bb0(%x: f32, %c: bf16, %o: f32):
    %z = arith.extf %c : bf16 to f32
    %pz = arith.mulf %x, %z : f32
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

// -----

// What a kernel asserts must be told. Kernels on matrix units tell it of rows, not of elements.

// CHECK-LABEL: func.func @asserted
// CHECK: redfuse.no_matrices = "it asserts something of its columns"
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @asserted(%a: memref<300x4096xf16>, %b: memref<4096x64xf16>, %out: memref<300x64xf32>) {
  redfuse.launch @asserted_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
  return
}
redfuse.kernel @asserted_0 attributes {num_inputs = 2 : i64,
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
    %p = arith.cmpf oge, %s, %zero : f32
    cf.assert %p, "a sum is negative"
    redfuse.yield %s : f32
  } -> tensor<300x64xf32>
  redfuse.yield %0 : tensor<300x64xf32>
}

// -----

// Pixels that are computed before they are multiplied: rows are neighbours in memory (3), not
// pixels of a column (2), whose results would be stored as columns.

// CHECK-LABEL: func.func @pixels
// CHECK: redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 3, tiles = [0, 64, 0, 128, 32]
#x = affine_map<(n, o, h, w, c) -> (n, c, h, w)>
#k = affine_map<(n, o, h, w, c) -> (o, c)>
#y = affine_map<(n, o, h, w, c) -> (n, o, h, w)>
func.func @pixels(%x: memref<8x32x256x256xbf16>, %k: memref<64x32xbf16>, %out: memref<8x64x256x256xbf16>) {
  redfuse.launch @pixels_0 ins(%x, %k : memref<8x32x256x256xbf16>, memref<64x32xbf16>) outs(%out : memref<8x64x256x256xbf16>)
  return
}
redfuse.kernel @pixels_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1, 2, 3], tiles = [1, 1, 64, 64, 0]>} {
^bb0(%x: tensor<8x32x256x256xbf16>, %k: tensor<64x32xbf16>, %init: tensor<8x64x256x256xbf16>):
  %zero = arith.constant 0.0 : bf16
  %0 = redfuse.cascade {indexing_maps = [#x, #k, #y]}
       ins(%x, %k : tensor<8x32x256x256xbf16>, tensor<64x32xbf16>) outs(%init : tensor<8x64x256x256xbf16>) {
  ^bb0(%a: bf16, %b: bf16):
    %m = arith.maximumf %a, %zero : bf16
    %u = arith.extf %m : bf16 to f32
    %w = arith.extf %b : bf16 to f32
    %uw = arith.mulf %u, %w : f32
    %s = redfuse.reduce add %uw over [4] into [0, 1, 2, 3] : f32
    %t = arith.truncf %s : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<8x64x256x256xbf16>
  redfuse.yield %0 : tensor<8x64x256x256xbf16>
}

// -----

// Floats of 8 bits whose sums are rounded: both lie along the sum, of which a tile has 128.
// What is left over of it is no reason to do without.

// CHECK-LABEL: func.func @bytes
// CHECK: redfuse.launch
// CHECK-SAME: #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 256, 0],
// CHECK-SAME: left = [tiled]
// MMA-LABEL: func.func @bytes
// MMA: redfuse.no_matrices = "no dim is the rows of every product, with 16-bit floats in memory on the other side"
#ik = affine_map<(i, j, k) -> (i, k)>
#jk = affine_map<(i, j, k) -> (j, k)>
#ij = affine_map<(i, j, k) -> (i, j)>
func.func @bytes(%x: memref<4096x1040xf8E4M3FN>, %y: memref<4096x1040xf8E5M2>, %out: memref<4096x4096xbf16>) {
  redfuse.launch @bytes_0 ins(%x, %y : memref<4096x1040xf8E4M3FN>, memref<4096x1040xf8E5M2>) outs(%out : memref<4096x4096xbf16>)
  return
}
redfuse.kernel @bytes_0 attributes {num_inputs = 2 : i64, schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [64, 64, 0]>} {
^bb0(%x: tensor<4096x1040xf8E4M3FN>, %y: tensor<4096x1040xf8E5M2>, %init: tensor<4096x4096xbf16>):
  %r = redfuse.cascade {indexing_maps = [#ik, #jk, #ij]}
      ins(%x, %y : tensor<4096x1040xf8E4M3FN>, tensor<4096x1040xf8E5M2>) outs(%init : tensor<4096x4096xbf16>) {
  ^bb0(%a: f8E4M3FN, %b: f8E5M2):
    %two = arith.constant 2.0 : f32
    %v = arith.extf %a : f8E4M3FN to f32
    %w = arith.extf %b : f8E5M2 to f32
    %p = arith.mulf %v, %w : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %t = arith.mulf %s, %two : f32
    %c = arith.truncf %t : f32 to bf16
    redfuse.yield %c : bf16
  } -> tensor<4096x4096xbf16>
  redfuse.yield %r : tensor<4096x4096xbf16>
}

// -----

// A result of f32 shows more digits than the unit has for these.

// CHECK-LABEL: func.func @digits
// CHECK: redfuse.no_matrices
#ik = affine_map<(i, j, k) -> (i, k)>
#jk = affine_map<(i, j, k) -> (j, k)>
#ij = affine_map<(i, j, k) -> (i, j)>
func.func @digits(%x: memref<4096x1040xf8E4M3FN>, %y: memref<4096x1040xf8E4M3FN>, %out: memref<4096x4096xf32>) {
  redfuse.launch @digits_0 ins(%x, %y : memref<4096x1040xf8E4M3FN>, memref<4096x1040xf8E4M3FN>) outs(%out : memref<4096x4096xf32>)
  return
}
redfuse.kernel @digits_0 attributes {num_inputs = 2 : i64, schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [64, 64, 0]>} {
^bb0(%x: tensor<4096x1040xf8E4M3FN>, %y: tensor<4096x1040xf8E4M3FN>, %init: tensor<4096x4096xf32>):
  %r = redfuse.cascade {indexing_maps = [#ik, #jk, #ij]}
      ins(%x, %y : tensor<4096x1040xf8E4M3FN>, tensor<4096x1040xf8E4M3FN>) outs(%init : tensor<4096x4096xf32>) {
  ^bb0(%a: f8E4M3FN, %b: f8E4M3FN):
    %v = arith.extf %a : f8E4M3FN to f32
    %w = arith.extf %b : f8E4M3FN to f32
    %p = arith.mulf %v, %w : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  redfuse.yield %r : tensor<4096x4096xf32>
}

// -----

#a = affine_map<(b, i, j, k) -> (b, i, k)>
#b = affine_map<(b, i, j, k) -> (b, j, k)>
#o = affine_map<(b, i, j, k) -> (b, i, j)>

// Many short sums: of two blocks on a multiprocessor one computes while the other waits. Odd
// rows of 32 bits leave by way of shared memory.
// CHECK-LABEL: func.func @short_sums
// CHECK: redfuse.launch @short_0 {{.*}} consumers = 1, {{.*}} blocks = 2, stages = {{[0-9]+}}, staged = false,
// CHECK: redfuse.launch @odd_0 {{.*}} consumers = 2, {{.*}} blocks = 1, stages = {{[0-9]+}}, staged = true,
// MMA-LABEL: func.func @short_sums
func.func @short_sums(%a: memref<4096x64x64xbf16>, %b: memref<4096x64x64xbf16>, %out: memref<4096x64x64xbf16>,
                      %c: memref<8x512x64xbf16>, %d: memref<8x333x64xbf16>, %odd: memref<8x512x333xf32>) {
  redfuse.launch @short_0 ins(%a, %b : memref<4096x64x64xbf16>, memref<4096x64x64xbf16>) outs(%out : memref<4096x64x64xbf16>)
  redfuse.launch @odd_0 ins(%c, %d : memref<8x512x64xbf16>, memref<8x333x64xbf16>) outs(%odd : memref<8x512x333xf32>)
  return
}
redfuse.kernel @short_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1, 2], tiles = [1, 64, 64, 0]>} {
^bb0(%a: tensor<4096x64x64xbf16>, %b: tensor<4096x64x64xbf16>, %init: tensor<4096x64x64xbf16>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<4096x64x64xbf16>, tensor<4096x64x64xbf16>) outs(%init : tensor<4096x64x64xbf16>) {
  ^bb0(%x: bf16, %y: bf16):
    %x1 = arith.extf %x : bf16 to f32
    %y1 = arith.extf %y : bf16 to f32
    %m = arith.mulf %x1, %y1 : f32
    %s = redfuse.reduce add %m over [3] into [0, 1, 2] : f32
    %t = arith.truncf %s : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<4096x64x64xbf16>
  redfuse.yield %r : tensor<4096x64x64xbf16>
}
redfuse.kernel @odd_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1, 2], tiles = [1, 64, 64, 0]>} {
^bb0(%a: tensor<8x512x64xbf16>, %b: tensor<8x333x64xbf16>, %init: tensor<8x512x333xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<8x512x64xbf16>, tensor<8x333x64xbf16>) outs(%init : tensor<8x512x333xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %x1 = arith.extf %x : bf16 to f32
    %y1 = arith.extf %y : bf16 to f32
    %m = arith.mulf %x1, %y1 : f32
    %s = redfuse.reduce add %m over [3] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<8x512x333xf32>
  redfuse.yield %r : tensor<8x512x333xf32>
}
