// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file -verify-diagnostics

// Plans that do not fit the kernel of their launch.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @product(%a: memref<300x4096xf16>, %b: memref<4096x64xf16>, %out: memref<300x64xf32>) {
  // expected-error @below {{cannot run as 'redfuse.matrices' says: it is for mma_sync, and the chip's products are with wgmma}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<mma_sync, row_dim = 0, tiles = [64, 64, 0], consumers = 1, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: 'tiles' has 2 entries, the kernel 3 dims}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 64], consumers = 1, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: the rows of its products are dim 0, not 1}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 1, tiles = [64, 64, 0], consumers = 1, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: the tile of the rows is not that of all consumers}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 64, 0], consumers = 1, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: a warpgroup has 64 rows}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 64, 0], consumers = 1, consumer_rows = 128, left = [tiled], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: the tile of dim 1 is 24; expected a multiple of 16, 256 at most}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 24, 0], consumers = 1, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: the tile of dim 1 is 512; expected a multiple of 16, 256 at most}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 512, 0], consumers = 1, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: 'left' has 2 entries, the kernel 1 products}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 64, 0], consumers = 1, consumer_rows = 64, left = [tiled, tiled], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: the left operand of product 0 can be tiled, not kept}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 64, 0], consumers = 1, consumer_rows = 64, left = [kept], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: a dynamic scheduler is for folds with wgmma that one block makes}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 64, 0], consumers = 1, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = dynamic, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: a multiprocessor has two blocks of one warpgroup at most}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 64, 0], consumers = 2, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 1, cluster = 1, blocks = 2, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: three warpgroups are for folds and sums that one block makes}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [192, 64, 0], consumers = 3, consumer_rows = 64, left = [tiled], sum_splits = 2, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: the tile of dim 1 is 16; expected a multiple of 32, for so many blocks}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 16, 0], consumers = 1, consumer_rows = 64, left = [tiled], sum_splits = 8, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: blocks cannot share what is no fold, of dynamic extents, or of other states than words}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 64, 0], consumers = 1, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 2, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: the tile of dim 2 is 64; expected 0, as it is neither rows nor columns}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 64, 64], consumers = 1, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = false, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: its results do not go through shared memory}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [64, 64, 0], consumers = 1, consumer_rows = 64, left = [tiled], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 0>}
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

// -----

#q = affine_map<(i, j, d, e) -> (i, d)>
#k = affine_map<(i, j, d, e) -> (j, d)>
#v = affine_map<(i, j, d, e) -> (j, e)>
#r = affine_map<(i, j, d, e) -> (i)>
#o = affine_map<(i, j, d, e) -> (i, e)>
func.func @weighted_rows(%q: memref<256x64xbf16>, %k: memref<512x64xbf16>, %v: memref<512x64xbf16>, %out: memref<256x64xbf16>) {
  // expected-error @below {{cannot run as 'redfuse.matrices' says: dim 2 is not whole in its tile of 48}}
  redfuse.launch @weighted_rows_0 ins(%q, %k, %v : memref<256x64xbf16>, memref<512x64xbf16>, memref<512x64xbf16>)
      outs(%out : memref<256x64xbf16>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 48, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: three warpgroups have left operands in shared memory}}
  redfuse.launch @weighted_rows_0 ins(%q, %k, %v : memref<256x64xbf16>, memref<512x64xbf16>, memref<512x64xbf16>)
      outs(%out : memref<256x64xbf16>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [192, 128, 64, 64], consumers = 3, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: blocks share the sums of a cascade on warpgroups alone}}
  redfuse.launch @weighted_rows_0 ins(%q, %k, %v : memref<256x64xbf16>, memref<512x64xbf16>, memref<512x64xbf16>)
      outs(%out : memref<256x64xbf16>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 2, splits = 1, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: a dynamic scheduler is for folds with wgmma that one block makes}}
  redfuse.launch @weighted_rows_0 ins(%q, %k, %v : memref<256x64xbf16>, memref<512x64xbf16>, memref<512x64xbf16>)
      outs(%out : memref<256x64xbf16>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 2, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = dynamic, cached = 32, ahead = 0, late = false, threshold = 1>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: 4 steps are not 3 splits that all have one}}
  redfuse.launch @weighted_rows_0 ins(%q, %k, %v : memref<256x64xbf16>, memref<512x64xbf16>, memref<512x64xbf16>)
      outs(%out : memref<256x64xbf16>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 3, cluster = 1, blocks = 1, stages = 5, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: its tiles take}}
  redfuse.launch @weighted_rows_0 ins(%q, %k, %v : memref<256x64xbf16>, memref<512x64xbf16>, memref<512x64xbf16>)
      outs(%out : memref<256x64xbf16>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 256, 64, 256], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 1, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>}
  // expected-error @below {{cannot run as 'redfuse.matrices' says: its ring has 8 stages, not 9}}
  redfuse.launch @weighted_rows_0 ins(%q, %k, %v : memref<256x64xbf16>, memref<512x64xbf16>, memref<512x64xbf16>)
      outs(%out : memref<256x64xbf16>)
      {redfuse.matrices = #redfuse.matrix_plan<wgmma, row_dim = 0, tiles = [128, 128, 64, 64], consumers = 2, consumer_rows = 64, left = [kept, packed], sum_splits = 1, splits = 1, cluster = 1, blocks = 1, stages = 9, staged = true, scheduler = static, cached = 32, ahead = 0, late = false, threshold = 1>}
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

// Something else than a plan.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
func.func @product(%a: memref<300x4096xf16>, %b: memref<4096x64xf16>, %out: memref<300x64xf32>) {
  // expected-error @below {{cannot run as 'redfuse.matrices' says: expected a #redfuse.matrix_plan}}
  redfuse.launch @product_0 ins(%a, %b : memref<300x4096xf16>, memref<4096x64xf16>) outs(%out : memref<300x64xf32>)
      {redfuse.matrices = 1}
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
