// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90 -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s
// RUN: redfuse-opt %s -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s --check-prefix=PLAIN

// Rows of 64 KiB, each scaled by the same 64 KiB: blocks stay, as many as run at a time, and walk
// rows. Shared memory keeps what all rows need, and has the next row under way while registers hold
// this one; the second-level cache is asked for the one behind that. Every thread reads what it has
// copied itself; a row stays short floats in registers. Rows behind the third of a block come from a
// dynamic scheduler: one thread asks for a number and hands it on behind the barrier that there is anyway.

// CHECK-LABEL: func.func @scale
// CHECK: memref.alloc(%{{.+}}) {alignment = 64 : i64, redfuse.counters} : memref<?xi32>
// CHECK-NEXT: arith.minui
// CHECK-LABEL: gpu.func @scale_0
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>, nvvm.minctasm = 1 : i32
// CHECK-DAG: memref.view %{{.+}} to memref<1x32768xbf16, #gpu.address_space<workgroup>>
// CHECK-DAG: memref.view %{{.+}} to memref<32768xbf16, #gpu.address_space<workgroup>>
// CHECK-DAG: %[[WORD:.+]] = memref.view %{{.+}} to memref<1xi32, #gpu.address_space<workgroup>>
// CHECK: "griddepcontrol.wait;"
// CHECK-COUNT-16: nvvm.cp.async.shared.global %{{.+}}, %{{.+}}, 16, cache =  cg
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK: scf.while
// CHECK: %[[ANSWER:.+]] = scf.if
// CHECK: "atom.relaxed.gpu.global.inc.u32 $0, [$1], $2;"
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-COUNT-8: vector.load %{{.+}} {alignment = 16 : i64} : memref<1x32768xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
// CHECK: nvvm.bar.warp.sync
// CHECK: scf.if
// CHECK-COUNT-8: nvvm.cp.async.shared.global
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: arith.minui
// CHECK: llvm.inline_asm {{.*}} "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r"
// CHECK: nvvm.cp.async.commit.group
// CHECK: llvm.inline_asm has_side_effects {{.*}} "", "=r,0"
// CHECK: memref.store %[[ANSWER]], %[[WORD]]
// CHECK: gpu.barrier
// CHECK-NEXT: arith.constant
// CHECK-NEXT: memref.load %[[WORD]]
// CHECK: llvm.inline_asm has_side_effects {{.*}} "", "=r,0"
// CHECK-NOT: : memref<1x32768xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
// CHECK: vector.load %{{.+}} {alignment = 16 : i64} : memref<32768xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
// CHECK: vector.store {{.+}} {alignment = 16 : i64, nontemporal = true} : memref<4096x32768xbf16>, vector<8xbf16>

// Without copies beside the threads rows are read twice.
// PLAIN-LABEL: gpu.func @scale_0
// PLAIN-NOT: cp.async
// PLAIN: vector.load %{{.+}} : memref<4096x32768xbf16>, vector<8xbf16>

#x = affine_map<(i, j) -> (i, j)>
#w = affine_map<(i, j) -> (j)>
#r = affine_map<(i, j) -> (i)>
func.func @scale(%x: memref<4096x32768xbf16>, %w: memref<32768xbf16>, %out: memref<4096x32768xbf16>) {
  redfuse.launch @scale_0 ins(%x, %w : memref<4096x32768xbf16>, memref<32768xbf16>)
                          outs(%out : memref<4096x32768xbf16>)
  return
}
redfuse.kernel @scale_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1], hints = {loop = copies}>} {
^bb0(%x: tensor<4096x32768xbf16>, %w: tensor<32768xbf16>, %init: tensor<4096x32768xbf16>):
  %m0 = tensor.empty() : tensor<4096xf32>
  %st = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>,
            identities = [0xFF800000 : f32]}
          ins(%x : tensor<4096x32768xbf16>) outs(%m0 : tensor<4096xf32>)
  step {
  ^bb0(%v: bf16, %m: f32):
    %f = arith.extf %v : bf16 to f32
    %ms = redfuse.reduce maximumf %f over [1] into [0] : f32
    %m1 = arith.maximumf %m, %ms : f32
    redfuse.yield %m1 : f32
  } merge {
  ^bb0(%a: f32, %c: f32):
    %m1 = arith.maximumf %a, %c : f32
    redfuse.yield %m1 : f32
  } -> tensor<4096xf32>
  %0 = redfuse.finalize {indexing_maps = [#x, #w, #r, #x]}
       ins(%x, %w, %st : tensor<4096x32768xbf16>, tensor<32768xbf16>, tensor<4096xf32>)
       outs(%init : tensor<4096x32768xbf16>) {
  ^bb0(%v: bf16, %s: bf16, %m: f32):
    %f = arith.extf %v : bf16 to f32
    %g = arith.extf %s : bf16 to f32
    %away = arith.subf %f, %m : f32
    %scaled = arith.mulf %away, %g : f32
    %short = arith.truncf %scaled : f32 to bf16
    redfuse.yield %short : bf16
  } -> tensor<4096x32768xbf16>
  redfuse.yield %0 : tensor<4096x32768xbf16>
}
