// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90 -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s
// RUN: redfuse-opt %s -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s --check-prefix=PLAIN

// Rows of 64 KiB, each scaled by the same 64 KiB: one block of 1024 threads has a row, and two run at
// a time, with 32 registers a thread, which do not hold it. It is read again for each group of ops,
// from the first-level cache, which has both rows and what they are scaled by: no shared memory but
// for what threads exchange, all loads first the first time, and what was loaded is not reused. Both
// caches are told to keep what is read again, and to let go of a row when it is read for the last time.

// CHECK-LABEL: gpu.func @scale_0
// CHECK-SAME: known_block_size = array<i32: 1024, 1, 1>, nvvm.minctasm = 2 : i32
// CHECK-NOT: redfuse.reuse
// CHECK: "griddepcontrol.wait;"
// CHECK: "createpolicy.fractional.L2::evict_last.b64 $0, 1.0;", "=l"
// CHECK-COUNT-4: "ld.global.L1::evict_last.L2::cache_hint.v4.b32 {$0, $1, $2, $3}, [$4+{{[0-9]+}}], $5;"
// CHECK: "griddepcontrol.launch_dependents;"
// CHECK-NOT: ld.global
// CHECK: gpu.barrier
// CHECK: "ld.global.L1::evict_first.L2::cache_hint.v4.b32
// CHECK: "ld.global.L1::evict_last.L2::cache_hint.v4.b32
// CHECK: vector.store {{.+}} {alignment = 16 : i64} : memref<4096x32768xbf16>, vector<8xbf16>
// CHECK: "ld.global.L1::evict_first.L2::cache_hint.v4.b32
// CHECK-NOT: vector.load {{.+}}xbf16>, vector<8xbf16>

// PLAIN-LABEL: gpu.func @scale_0
// PLAIN-NOT: array<i32: 1024, 1, 1>

#x = affine_map<(i, j) -> (i, j)>
#w = affine_map<(i, j) -> (j)>
#r = affine_map<(i, j) -> (i)>
func.func @scale(%x: memref<4096x32768xbf16>, %w: memref<32768xbf16>, %out: memref<4096x32768xbf16>) {
  redfuse.launch @scale_0 ins(%x, %w : memref<4096x32768xbf16>, memref<32768xbf16>)
                          outs(%out : memref<4096x32768xbf16>)
  return
}
redfuse.kernel @scale_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1]>} {
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
