// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90 -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s
// RUN: redfuse-opt %s -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s --check-prefix=PLAIN

// A row of 64 KiB is more than registers hold, and two programs walk it. As longer rows
// are, and this one by a hint, it is kept in shared memory: every
// thread copies what it reads into shared memory, waits for its own copies, and
// reads it from there both times. Three such blocks fit a multiprocessor.

// CHECK-LABEL: gpu.func @away_0
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>, nvvm.minctasm = 3 : i32
// CHECK: memref.view %{{.+}} : memref<?xi8, #gpu.address_space<workgroup>> to memref<1x32768xbf16, #gpu.address_space<workgroup>>
// CHECK: scf.for
// CHECK-NOT: vector.load
// CHECK: nvvm.cp.async.shared.global %{{.+}}, %{{.+}}, 16, cache =  cg : !llvm.ptr<3>, !llvm.ptr<1>
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: scf.for
// CHECK: vector.load %{{.+}} {alignment = 16 : i64} : memref<1x32768xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: vector.load %{{.+}} {alignment = 16 : i64} : memref<1x32768xbf16, #gpu.address_space<workgroup>>, vector<8xbf16>
// CHECK: vector.store {{.+}} : memref<256x32768xbf16>, vector<8xbf16>

// Without copies beside the threads it is read twice.
// PLAIN-LABEL: gpu.func @away_0
// PLAIN-NOT: cp.async
// PLAIN: vector.load %{{.+}} : memref<256x32768xbf16>, vector<8xbf16>
// PLAIN: gpu.barrier
// PLAIN: vector.load %{{.+}} : memref<256x32768xbf16>, vector<8xbf16>

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @away(%x: memref<256x32768xbf16>, %out: memref<256x32768xbf16>) {
  redfuse.launch @away_0 ins(%x : memref<256x32768xbf16>) outs(%out : memref<256x32768xbf16>)
  return
}
redfuse.kernel @away_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1], hints = {keep = true}>} {
^bb0(%x: tensor<256x32768xbf16>, %init: tensor<256x32768xbf16>):
  %m0 = tensor.empty() : tensor<256xf32>
  %st = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>,
            identities = [0xFF800000 : f32]}
          ins(%x : tensor<256x32768xbf16>) outs(%m0 : tensor<256xf32>)
  step {
  ^bb0(%v: bf16, %m: f32):
    %w = arith.extf %v : bf16 to f32
    %ms = redfuse.reduce maximumf %w over [1] into [0] : f32
    %m1 = arith.maximumf %m, %ms : f32
    redfuse.yield %m1 : f32
  } merge {
  ^bb0(%a: f32, %c: f32):
    %m1 = arith.maximumf %a, %c : f32
    redfuse.yield %m1 : f32
  } -> tensor<256xf32>
  %0 = redfuse.finalize {indexing_maps = [#x, #r, #x]}
       ins(%x, %st : tensor<256x32768xbf16>, tensor<256xf32>) outs(%init : tensor<256x32768xbf16>) {
  ^bb0(%v: bf16, %m: f32):
    %w = arith.extf %v : bf16 to f32
    %away = arith.subf %w, %m : f32
    %short = arith.truncf %away : f32 to bf16
    redfuse.yield %short : bf16
  } -> tensor<256x32768xbf16>
  redfuse.yield %0 : tensor<256x32768xbf16>
}
