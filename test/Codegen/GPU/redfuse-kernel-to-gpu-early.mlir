// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90 -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_120 -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s --check-prefix=FEWER
// RUN: redfuse-opt %s -redfuse-attach-target=chip=gfx942 -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s --check-prefix=WAVE

// What all blocks read, of 8192 elements: a thread has registers for its part of them beside its part
// of a row, and three blocks still have 48 KiB of rows under way. All loads come first.

// CHECK-LABEL: gpu.func @block_0
// CHECK-NOT: nvvm.minctasm
// CHECK-COUNT-2: vector.load %{{.+}} {alignment = 16 : i64} : memref<8192x8192xbf16>, vector<8xbf16>
// CHECK-COUNT-2: vector.load %{{.+}} {alignment = 16 : i64} : memref<8192xbf16>, vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK-NOT: vector.load {{.*}}xbf16>, vector<8xbf16>
// CHECK: gpu.return
#x = affine_map<(i, j) -> (i, j)>
#w = affine_map<(i, j) -> (j)>
func.func @block(%x: memref<8192x8192xbf16>, %w: memref<8192xbf16>, %out: memref<8192x8192xbf16>) {
  redfuse.launch @block_0
    ins(%x, %w : memref<8192x8192xbf16>, memref<8192xbf16>)
    outs(%out : memref<8192x8192xbf16>)
  return
}
redfuse.kernel @block_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<8192x8192xbf16>, %w: tensor<8192xbf16>, %init: tensor<8192x8192xbf16>):
  %0 = redfuse.cascade {indexing_maps = [#x, #w, #x]}
       ins(%x, %w : tensor<8192x8192xbf16>, tensor<8192xbf16>)
       outs(%init : tensor<8192x8192xbf16>) {
  ^bb0(%v: bf16, %s: bf16):
    %f = arith.extf %v : bf16 to f32
    %m = redfuse.reduce maximumf %f over [1] into [0] : f32
    %g = arith.extf %s : bf16 to f32
    %away = arith.subf %f, %m : f32
    %scaled = arith.mulf %away, %g : f32
    %short = arith.truncf %scaled : f32 to bf16
    redfuse.yield %short : bf16
  } -> tensor<8192x8192xbf16>
  redfuse.yield %0 : tensor<8192x8192xbf16>
}

// -----

// With two such inputs only two blocks would run at a time: each is loaded where it is used, and four
// blocks run, or three where a multiprocessor runs 1536 threads.

// FEWER-LABEL: gpu.func @two_0
// FEWER-SAME: known_block_size = array<i32: 512, 1, 1>, nvvm.minctasm = 3 : i32

// CHECK-LABEL: gpu.func @two_0
// CHECK-SAME: nvvm.minctasm = 4 : i32
// CHECK-COUNT-2: vector.load %{{.+}} {alignment = 16 : i64} : memref<8192x8192xbf16>, vector<8xbf16>
// CHECK-NOT: vector.load {{.*}}xbf16>, vector<8xbf16>
// CHECK: gpu.barrier
// CHECK-COUNT-2: vector.load %{{.+}} {alignment = 16 : i64} : memref<8192xbf16>, vector<8xbf16>
// CHECK: vector.store
// CHECK-COUNT-2: vector.load %{{.+}} {alignment = 16 : i64} : memref<8192xbf16>, vector<8xbf16>
// CHECK: vector.store
#x = affine_map<(i, j) -> (i, j)>
#w = affine_map<(i, j) -> (j)>
func.func @two(%x: memref<8192x8192xbf16>, %w: memref<8192xbf16>, %b: memref<8192xbf16>, %out: memref<8192x8192xbf16>) {
  redfuse.launch @two_0
    ins(%x, %w, %b : memref<8192x8192xbf16>, memref<8192xbf16>, memref<8192xbf16>)
    outs(%out : memref<8192x8192xbf16>)
  return
}
redfuse.kernel @two_0 attributes {num_inputs = 3 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<8192x8192xbf16>, %w: tensor<8192xbf16>, %b: tensor<8192xbf16>, %init: tensor<8192x8192xbf16>):
  %0 = redfuse.cascade {indexing_maps = [#x, #w, #w, #x]}
       ins(%x, %w, %b : tensor<8192x8192xbf16>, tensor<8192xbf16>, tensor<8192xbf16>)
       outs(%init : tensor<8192x8192xbf16>) {
  ^bb0(%v: bf16, %s: bf16, %t: bf16):
    %f = arith.extf %v : bf16 to f32
    %m = redfuse.reduce maximumf %f over [1] into [0] : f32
    %g = arith.extf %s : bf16 to f32
    %away = arith.subf %f, %m : f32
    %scaled = arith.mulf %away, %g : f32
    %h = arith.extf %t : bf16 to f32
    %moved = arith.addf %scaled, %h : f32
    %short = arith.truncf %moved : f32 to bf16
    redfuse.yield %short : bf16
  } -> tensor<8192x8192xbf16>
  redfuse.yield %0 : tensor<8192x8192xbf16>
}

// -----

// A warp has a row to itself: what all rows read is loaded when each thread has reduced what it has,
// before it exchanges that with others. Both are extended again when they are used, of words that a
// thread has to itself: "r" is a register of the whole wave on AMD's GPUs.

// CHECK-LABEL: gpu.func @warps_0
// CHECK-COUNT-4: vector.load %{{.+}} {alignment = 16 : i64} : memref<65536x1024xbf16>, vector<8xbf16>
// CHECK: maximumf
// CHECK-NOT: gpu.shuffle
// CHECK-COUNT-4: vector.load %{{.+}} {alignment = 16 : i64} : memref<1024xbf16>, vector<8xbf16>
// CHECK: gpu.shuffle
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "", "=r,0"
// CHECK: arith.extf
// CHECK: vector.store

// WAVE-LABEL: gpu.func @warps_0
// WAVE: llvm.inline_asm has_side_effects asm_dialect = att "", "=v,0"
#x = affine_map<(i, j) -> (i, j)>
#w = affine_map<(i, j) -> (j)>
func.func @warps(%x: memref<65536x1024xbf16>, %w: memref<1024xbf16>, %out: memref<65536x1024xbf16>) {
  redfuse.launch @warps_0
    ins(%x, %w : memref<65536x1024xbf16>, memref<1024xbf16>)
    outs(%out : memref<65536x1024xbf16>)
  return
}
redfuse.kernel @warps_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [2, 0]>} {
^bb0(%x: tensor<65536x1024xbf16>, %w: tensor<1024xbf16>, %init: tensor<65536x1024xbf16>):
  %0 = redfuse.cascade {indexing_maps = [#x, #w, #x]}
       ins(%x, %w : tensor<65536x1024xbf16>, tensor<1024xbf16>)
       outs(%init : tensor<65536x1024xbf16>) {
  ^bb0(%v: bf16, %s: bf16):
    %f = arith.extf %v : bf16 to f32
    %m = redfuse.reduce maximumf %f over [1] into [0] : f32
    %g = arith.extf %s : bf16 to f32
    %away = arith.subf %f, %m : f32
    %scaled = arith.mulf %away, %g : f32
    %short = arith.truncf %scaled : f32 to bf16
    redfuse.yield %short : bf16
  } -> tensor<65536x1024xbf16>
  redfuse.yield %0 : tensor<65536x1024xbf16>
}
