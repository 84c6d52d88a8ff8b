// RUN: redfuse-opt %s -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s

// A row a block, read once: two vectors of 16 bytes a thread, which stay in
// registers from the maximum to the result. Threads exchange what they have by
// shuffles and one word a warp; nothing else is in shared memory.

// CHECK-LABEL: gpu.func @softmax_0
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>
// CHECK-COUNT-2: vector.load %{{.+}} {alignment = 16 : i64} : memref<64x8192xbf16>, vector<8xbf16>
// CHECK-NOT: memref<64x8192xbf16>, vector<8xbf16>
// CHECK: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: math.exp
// CHECK-NOT: vector.load
// CHECK: gpu.barrier
// CHECK-COUNT-2: vector.store %{{.+}} {alignment = 16 : i64} : memref<64x8192xbf16>, vector<8xbf16>
#x = affine_map<(i, j) -> (i, j)>
func.func @softmax(%x: memref<64x8192xbf16>, %out: memref<64x8192xbf16>) {
  redfuse.launch @softmax_0 ins(%x : memref<64x8192xbf16>) outs(%out : memref<64x8192xbf16>)
  return
}
redfuse.kernel @softmax_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x8192xbf16>, %init: tensor<64x8192xbf16>):
  %0 = redfuse.cascade {indexing_maps = [#x, #x]}
       ins(%x : tensor<64x8192xbf16>) outs(%init : tensor<64x8192xbf16>) {
  ^bb0(%h: bf16):
    %v = arith.extf %h : bf16 to f32
    %m = redfuse.reduce maximumf %v over [1] into [0] : f32
    %c = arith.subf %v, %m : f32
    %e = math.exp %c : f32
    %l = redfuse.reduce add %e over [1] into [0] : f32
    %w = arith.divf %e, %l : f32
    %r = arith.truncf %w : f32 to bf16
    redfuse.yield %r : bf16
  } -> tensor<64x8192xbf16>
  redfuse.yield %0 : tensor<64x8192xbf16>
}

// -----

// A warp has a short row to itself: no shared memory, no barrier. What lies
// beyond the end of the rows is not stored.

// CHECK-LABEL: gpu.func @short_rows_0
// CHECK-NOT: gpu.barrier
// CHECK: arith.minsi
// CHECK: gpu.shuffle xor
// CHECK-NOT: gpu.barrier
// CHECK: scf.if
// CHECK: memref.store %{{.+}}, %{{.+}} : memref<30xf32>
// CHECK: gpu.return
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @short_rows(%x: memref<30x128xf32>, %out: memref<30xf32>) {
  redfuse.launch @short_rows_0 ins(%x : memref<30x128xf32>) outs(%out : memref<30xf32>)
  return
}
redfuse.kernel @short_rows_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [4, 0]>} {
^bb0(%x: tensor<30x128xf32>, %init: tensor<30xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]}
       ins(%x : tensor<30x128xf32>) outs(%init : tensor<30xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<30xf32>
  redfuse.yield %0 : tensor<30xf32>
}

// -----

// A fold: every thread carries a state of its own through the loop, in which
// nothing is exchanged; the states are merged once. The odd end of the row is one
// more step, with masks.

// CHECK-LABEL: gpu.func @streamed_0
// CHECK: scf.for {{.+}} iter_args({{.+}}) -> (f32, f32)
// CHECK-NOT: gpu.shuffle
// CHECK: scf.yield
// CHECK: arith.cmpi slt
// CHECK: arith.select
// CHECK: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: memref.store %{{.+}} : memref<512xf32>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @streamed(%x: memref<512x?xf32>, %out: memref<512xf32>) {
  redfuse.launch @streamed_0 ins(%x : memref<512x?xf32>) outs(%out : memref<512xf32>)
  return
}
redfuse.kernel @streamed_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1]>} {
^bb0(%x: tensor<512x?xf32>, %init: tensor<512xf32>):
  %m0 = tensor.empty() : tensor<512xf32>
  %l0 = tensor.empty() : tensor<512xf32>
  %st:2 = redfuse.fold {indexing_maps = [#x, #r, #r], over = array<i64: 1>,
            identities = [0xFF800000 : f32, 0.0 : f32]}
          ins(%x : tensor<512x?xf32>) outs(%m0, %l0 : tensor<512xf32>, tensor<512xf32>)
  step {
  ^bb0(%v: f32, %m: f32, %l: f32):
    %ms = redfuse.reduce maximumf %v over [1] into [0] : f32
    %m1 = arith.maximumf %m, %ms : f32
    %s = redfuse.reduce add %v over [1] into [0] : f32
    %l1 = arith.addf %l, %s : f32
    redfuse.yield %m1, %l1 : f32, f32
  } merge {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %m1 = arith.maximumf %a, %c : f32
    %l1 = arith.addf %b, %d : f32
    redfuse.yield %m1, %l1 : f32, f32
  } -> tensor<512xf32>, tensor<512xf32>
  %0 = redfuse.finalize {indexing_maps = [#r, #r, #r]}
       ins(%st#0, %st#1 : tensor<512xf32>, tensor<512xf32>) outs(%init : tensor<512xf32>) {
  ^bb0(%m: f32, %l: f32):
    %r = arith.addf %m, %l : f32
    redfuse.yield %r : f32
  } -> tensor<512xf32>
  redfuse.yield %0 : tensor<512xf32>
}

// -----

// A split fold whose blocks merge in the same launch: states in a workspace, a
// counter that the last block of a tile sets back to zero, and that block reads
// the states of all in the order of their parts.

// CHECK-LABEL: func.func @split
// CHECK: %[[ALL:.+]] = memref.alloc({{.+}}) {alignment = 64 : i64} : memref<?xi32>
// CHECK: %[[COUNTERS:.+]] = memref.alloc({{.+}}) {alignment = 64 : i64, redfuse.counters} : memref<?xi32>
// CHECK: gpu.launch_func @redfuse_gpu::@split_0
// CHECK: memref.dealloc %[[ALL]]
// CHECK-NOT: memref.dealloc
// CHECK-LABEL: gpu.func @split_0
// CHECK: scf.for
// CHECK: memref.store %{{.+}} : memref<?xi32>
// CHECK: llvm.fence syncscope("device") acq_rel
// CHECK: gpu.barrier
// CHECK: llvm.atomicrmw uinc_wrap
// CHECK: scf.if
// CHECK: llvm.fence syncscope("device") acq_rel
// CHECK: scf.for
// CHECK: memref.load %{{.+}} : memref<?xi32>
// CHECK: memref.store %{{.+}} : memref<2xf32>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @split(%x: memref<2x262144xf32>, %out: memref<2xf32>) {
  redfuse.launch @split_0 ins(%x : memref<2x262144xf32>) outs(%out : memref<2xf32>)
  return
}
redfuse.kernel @split_0 attributes {num_inputs = 1 : i64, redfuse.merges_in_launch,
    schedule = #redfuse.schedule<split, grid = [0], tiles = [1, 4096], stream = [1], splits = 16>} {
^bb0(%x: tensor<2x262144xf32>, %init: tensor<2xf32>):
  %m0 = tensor.empty() : tensor<2xf32>
  %st = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>,
            identities = [0xFF800000 : f32]}
          ins(%x : tensor<2x262144xf32>) outs(%m0 : tensor<2xf32>)
  step {
  ^bb0(%v: f32, %m: f32):
    %ms = redfuse.reduce maximumf %v over [1] into [0] : f32
    %m1 = arith.maximumf %m, %ms : f32
    redfuse.yield %m1 : f32
  } merge {
  ^bb0(%a: f32, %c: f32):
    %m1 = arith.maximumf %a, %c : f32
    redfuse.yield %m1 : f32
  } -> tensor<2xf32>
  %0 = redfuse.finalize {indexing_maps = [#r, #r]}
       ins(%st : tensor<2xf32>) outs(%init : tensor<2xf32>) {
  ^bb0(%m: f32):
    redfuse.yield %m : f32
  } -> tensor<2xf32>
  redfuse.yield %0 : tensor<2xf32>
}

// -----

// A fold of one step: its reductions combine all threads, and nothing is left to
// merge (what the merge alone does, a product, is nowhere). A number of points is
// not added up.

// CHECK-LABEL: gpu.func @whole_0
// CHECK-NOT: arith.mulf
// CHECK: vector.load %{{.+}} : memref<256x8192xf32>
// CHECK-NOT: arith.mulf
// CHECK: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK-NOT: arith.mulf
// CHECK: arith.constant 8192 : i64
// CHECK: arith.sitofp
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: arith.mulf
// CHECK: gpu.return
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#n = affine_map<(i, j) -> ()>
func.func @whole(%x: memref<256x8192xf32>, %out: memref<256xf32>) {
  redfuse.launch @whole_0 ins(%x : memref<256x8192xf32>) outs(%out : memref<256xf32>)
  return
}
redfuse.kernel @whole_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1]>} {
^bb0(%x: tensor<256x8192xf32>, %init: tensor<256xf32>):
  %m0 = tensor.empty() : tensor<256xf32>
  %n0 = tensor.empty() : tensor<i64>
  %st:2 = redfuse.fold {indexing_maps = [#x, #r, #n], over = array<i64: 1>,
            identities = [0xFF800000 : f32, 0 : i64]}
          ins(%x : tensor<256x8192xf32>) outs(%m0, %n0 : tensor<256xf32>, tensor<i64>)
  step {
  ^bb0(%v: f32, %m: f32, %n: i64):
    %one = arith.constant 1 : i64
    %ms = redfuse.reduce maximumf %v over [1] into [0] : f32
    %m1 = arith.maximumf %m, %ms : f32
    %ns = redfuse.reduce add %one over [1] into [] : i64
    %n1 = arith.addi %n, %ns : i64
    redfuse.yield %m1, %n1 : f32, i64
  } merge {
  ^bb0(%a: f32, %na: i64, %c: f32, %nc: i64):
    %unit = arith.constant 1.0 : f32
    %c1 = arith.mulf %c, %unit : f32
    %m1 = arith.maximumf %a, %c1 : f32
    %n1 = arith.addi %na, %nc : i64
    redfuse.yield %m1, %n1 : f32, i64
  } -> tensor<256xf32>, tensor<i64>
  %0 = redfuse.finalize {indexing_maps = [#r, #n, #r]}
       ins(%st#0, %st#1 : tensor<256xf32>, tensor<i64>) outs(%init : tensor<256xf32>) {
  ^bb0(%m: f32, %n: i64):
    %w = arith.sitofp %n : i64 to f32
    %q = arith.divf %m, %w : f32
    redfuse.yield %q : f32
  } -> tensor<256xf32>
  redfuse.yield %0 : tensor<256xf32>
}
