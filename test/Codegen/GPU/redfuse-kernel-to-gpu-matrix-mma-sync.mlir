// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90 -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s --check-prefixes=CHECK,LATER
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-matrices -redfuse-lazy-pivots -redfuse-plan-registers -redfuse-kernel-to-gpu -redfuse-lower-to-nvvm | FileCheck %s --check-prefix=NVVM

// The kernel of redfuse-kernel-to-gpu-matrix.mlir where there are no warpgroups: no
// tensor maps, no roles, a block for each tile of the grid. All four warps copy a tile
// when the one three places before it is taken, and each multiplies 32 rows; the left
// operand stays in shared memory, accumulators are in registers all the time.

// CHECK-LABEL: func.func @weighted_rows
// CHECK-NOT: redfuse_rt_tensor_map
// CHECK: gpu.launch_func @redfuse_gpu::@weighted_rows_0
// CHECK-LABEL: gpu.func @weighted_rows_0
// CHECK-SAME: known_block_size = array<i32: 128, 1, 1>
// LATER: griddepcontrol.wait
// The left operand, and the tiles under way before the first one is used.
// CHECK: tile.copy_rows %{{.*}} along 0 to %{{.*}} thread %{{.*}} of 128 inside : memref<256x64xbf16>, !tile.shared<128x64xbf16>
// CHECK: tile.copy_rows %{{.*}} : memref<512x64xbf16>, !tile.shared<64x64xbf16>
// CHECK: tile.commit_rows
// CHECK-NOT: tile.roles
// Steps in which nothing is masked.
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tile.wait_rows 2
// CHECK-NEXT: gpu.barrier
// CHECK: scf.if
// CHECK: tile.copy_rows
// CHECK: tile.commit_rows
// CHECK: tile.multiply {{.+}} -> !tile.accumulators<128x64xf32>
// CHECK: tile.wait_products 0
// CHECK-NOT: arith.select {{.+}} : f32
// CHECK: ex2.approx.ftz.f32
// CHECK: tile.pack {{.*}} : !tile.operand<128x64xbf16>
// CHECK: tile.wait_rows 2
// CHECK-NEXT: gpu.barrier
// CHECK: tile.multiply {{.+}} rows over 64 plus {{.+}} -> !tile.accumulators<128x64xf32>
// CHECK: scf.yield
// CHECK: vector.store {{.+}} {alignment = 16 : i64} : memref<256x64xbf16>, vector<8xbf16>

// NVVM-LABEL: llvm.func @weighted_rows_0
// NVVM-SAME: nvvm.minctasm = 2
// NVVM: cp.async.cg.shared.global
// NVVM: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// NVVM: "llvm.nvvm.mma.m16n8k16.row.col.bf16"
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
