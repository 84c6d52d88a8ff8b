// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu -redfuse-lower-to-nvvm -split-input-file | FileCheck %s --check-prefix=NVVM
// RUN: redfuse-opt %s -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s --check-prefix=PLAIN

// Two products a step: weights of the first's result, masked below the diagonal,
// times the rows of another matrix. The tensors come by tensor maps that the host
// makes; a persistent block a multiprocessor, one warp that loads and two
// warpgroups that multiply.

// CHECK-LABEL: func.func @weighted_rows
// CHECK: call @redfuse_rt_tensor_map
// CHECK: vector.load {{.+}} : memref<16xi64>, vector<16xi64>
// CHECK-COUNT-3: call @redfuse_rt_tensor_map
// CHECK: gpu.launch_func @redfuse_gpu::@weighted_rows_0
// LLVM is not to do much to kernels on matrix units.
// CHECK: gpu.module @redfuse_gpu attributes {redfuse.most_opt_level = 1 : i64}
// CHECK-LABEL: gpu.func @weighted_rows_0
// CHECK-SAME: vector<16xi64>
// CHECK-SAME: known_block_size = array<i32: 384, 1, 1>
// CHECK: tile.init_barrier
// CHECK: gpu.barrier
// The loader.
// CHECK: role warps 4 registers 40
// CHECK: tile.copy
// The left operand of the first product stays in registers.
// CHECK: role warps 8 registers 232
// CHECK: tile.read_operand
// The first step is the last tile, which has the diagonal.
// CHECK: tile.multiply {{.+}} -> !tile.accumulators<64x128xf32>
// CHECK: tile.wait_products 0
// Two rows, each less the thread's first column, with the columns from there on.
// CHECK: arith.cmpi sge, %[[FIRST:[0-9]+]], %c0_i32
// CHECK: arith.cmpi sge, %[[FIRST]], %c1_i32
// CHECK: arith.cmpi sge, %[[SECOND:[0-9]+]], %c0_i32
// CHECK: arith.cmpi sge, %[[SECOND]], %c1_i32
// CHECK: arith.cmpi sge, %[[FIRST]], %c8_i32
// CHECK: arith.select
// CHECK: ex2.approx.ftz.f32
// CHECK: tile.pack
// The diagonal has no other tile: that is tried for each of the few tiles of rows.
// CHECK-NOT: arith.select {{.+}} : f32
// Steps in which nothing is masked: both products are started, in turn with the
// other warpgroup's, one waits.
// CHECK: scf.for
// CHECK: llvm.inline_asm {{.*}} "bar.sync $0, 256;"
// CHECK: tile.multiply {{.+}} -> !tile.accumulators<64x128xf32>
// CHECK: tile.multiply {{.+}} -> !tile.accumulators<64x64xf32>
// CHECK: tile.wait_products 1
// CHECK: llvm.inline_asm {{.*}} "bar.arrive $0, 256;"
// CHECK-NOT: arith.select {{.+}} : f32
// CHECK: tile.wait_products 0
// CHECK: scf.yield
// Results go through shared memory.
// CHECK: tile.store_block
// CHECK: tile.copy_out

// NVVM-LABEL: llvm.func @weighted_rows_0
// NVVM-SAME: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// NVVM-SAME: nvvm.maxnreg = 168

// PLAIN-LABEL: gpu.func @weighted_rows_0
// PLAIN-NOT: tile.multiply
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

// One product with a long sum, cut into tiles of 64 for both operands; what
// follows it works on the result in registers.

// CHECK-LABEL: gpu.func @product_0
// CHECK: scf.for
// CHECK: tile.multiply {{.+}} -> !tile.accumulators<64x64xf32>
// CHECK: tile.wait_products 1
// CHECK: arith.maximumf
// CHECK: gpu.return
// PLAIN-LABEL: gpu.func @product_0
// PLAIN-NOT: tile.multiply
#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
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
