// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90 -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file | FileCheck %s

// 256 threads have all of a row under way at once: 32 elements each. The number of elements is known
// and takes no exchange; the sum takes five shuffles, and a thread reads what all eight warps have.

// CHECK-LABEL: gpu.func @short_0
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK-COUNT-8: vector.load %{{.+}} {alignment = 16 : i64} : memref<128x8192xf32>, vector<4xf32>
// CHECK-COUNT-5: gpu.shuffle
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.barrier
// CHECK-COUNT-2: vector.load %{{.+}} {alignment = 16 : i64} : memref<?xi32, #gpu.address_space<workgroup>>, vector<4xi32>
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.return
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 128,
    l1 = 232448, l2 = 52428800, flops = 67000, bandwidth = 3300, launch_ns = 2000>} {
func.func @short(%x: memref<128x8192xf32>, %out: memref<128xf32>) {
  redfuse.launch @short_0 ins(%x : memref<128x8192xf32>) outs(%out : memref<128xf32>)
  return
}
redfuse.kernel @short_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1]>} {
^bb0(%x: tensor<128x8192xf32>, %init: tensor<128xf32>):
  %s0 = tensor.empty() : tensor<128xf32>
  %n0 = tensor.empty() : tensor<128xi64>
  %st:2 = redfuse.fold {indexing_maps = [#x, #r, #r], over = array<i64: 1>,
            identities = [0.000000e+00 : f32, 0 : i64]}
          ins(%x : tensor<128x8192xf32>) outs(%s0, %n0 : tensor<128xf32>, tensor<128xi64>)
  step {
  ^bb0(%v: f32, %s: f32, %n: i64):
    %one = arith.constant 1 : i64
    %ss = redfuse.reduce add %v over [1] into [0] : f32
    %ns = redfuse.reduce add %one over [1] into [0] : i64
    %s1 = arith.addf %s, %ss : f32
    %n1 = arith.addi %n, %ns : i64
    redfuse.yield %s1, %n1 : f32, i64
  } merge {
  ^bb0(%a: f32, %b: i64, %c: f32, %d: i64):
    %s1 = arith.addf %a, %c : f32
    %n1 = arith.addi %b, %d : i64
    redfuse.yield %s1, %n1 : f32, i64
  } -> tensor<128xf32>, tensor<128xi64>
  %0 = redfuse.finalize {indexing_maps = [#r, #r, #r]}
       ins(%st#0, %st#1 : tensor<128xf32>, tensor<128xi64>) outs(%init : tensor<128xf32>) {
  ^bb0(%s: f32, %n: i64):
    %c = arith.sitofp %n : i64 to f32
    %q = arith.divf %s, %c : f32
    redfuse.yield %q : f32
  } -> tensor<128xf32>
  redfuse.yield %0 : tensor<128xf32>
}
}

// -----

// Long rows, of which few rounds of blocks run: 512 threads a block, two rounds.

// CHECK-LABEL: gpu.func @long_0
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>
// CHECK: vector.load %{{.+}} : memref<512x32768xf32>, vector<4xf32>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 128,
    l1 = 232448, l2 = 52428800, flops = 67000, bandwidth = 3300, launch_ns = 2000>} {
func.func @long(%x: memref<512x32768xf32>, %out: memref<512xf32>) {
  redfuse.launch @long_0 ins(%x : memref<512x32768xf32>) outs(%out : memref<512xf32>)
  return
}
redfuse.kernel @long_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1]>} {
^bb0(%x: tensor<512x32768xf32>, %init: tensor<512xf32>):
  %s0 = tensor.empty() : tensor<512xf32>
  %n0 = tensor.empty() : tensor<512xi64>
  %st:2 = redfuse.fold {indexing_maps = [#x, #r, #r], over = array<i64: 1>,
            identities = [0.000000e+00 : f32, 0 : i64]}
          ins(%x : tensor<512x32768xf32>) outs(%s0, %n0 : tensor<512xf32>, tensor<512xi64>)
  step {
  ^bb0(%v: f32, %s: f32, %n: i64):
    %one = arith.constant 1 : i64
    %ss = redfuse.reduce add %v over [1] into [0] : f32
    %ns = redfuse.reduce add %one over [1] into [0] : i64
    %s1 = arith.addf %s, %ss : f32
    %n1 = arith.addi %n, %ns : i64
    redfuse.yield %s1, %n1 : f32, i64
  } merge {
  ^bb0(%a: f32, %b: i64, %c: f32, %d: i64):
    %s1 = arith.addf %a, %c : f32
    %n1 = arith.addi %b, %d : i64
    redfuse.yield %s1, %n1 : f32, i64
  } -> tensor<512xf32>, tensor<512xi64>
  %0 = redfuse.finalize {indexing_maps = [#r, #r, #r]}
       ins(%st#0, %st#1 : tensor<512xf32>, tensor<512xi64>) outs(%init : tensor<512xf32>) {
  ^bb0(%s: f32, %n: i64):
    %c = arith.sitofp %n : i64 to f32
    %q = arith.divf %s, %c : f32
    redfuse.yield %q : f32
  } -> tensor<512xf32>
  redfuse.yield %0 : tensor<512xf32>
}
}

// -----

// More rows: blocks end and start all the time.

// CHECK-LABEL: gpu.func @many_0
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: vector.load %{{.+}} : memref<1024x32768xf32>, vector<4xf32>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 128,
    l1 = 232448, l2 = 52428800, flops = 67000, bandwidth = 3300, launch_ns = 2000>} {
func.func @many(%x: memref<1024x32768xf32>, %out: memref<1024xf32>) {
  redfuse.launch @many_0 ins(%x : memref<1024x32768xf32>) outs(%out : memref<1024xf32>)
  return
}
redfuse.kernel @many_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1]>} {
^bb0(%x: tensor<1024x32768xf32>, %init: tensor<1024xf32>):
  %s0 = tensor.empty() : tensor<1024xf32>
  %n0 = tensor.empty() : tensor<1024xi64>
  %st:2 = redfuse.fold {indexing_maps = [#x, #r, #r], over = array<i64: 1>,
            identities = [0.000000e+00 : f32, 0 : i64]}
          ins(%x : tensor<1024x32768xf32>) outs(%s0, %n0 : tensor<1024xf32>, tensor<1024xi64>)
  step {
  ^bb0(%v: f32, %s: f32, %n: i64):
    %one = arith.constant 1 : i64
    %ss = redfuse.reduce add %v over [1] into [0] : f32
    %ns = redfuse.reduce add %one over [1] into [0] : i64
    %s1 = arith.addf %s, %ss : f32
    %n1 = arith.addi %n, %ns : i64
    redfuse.yield %s1, %n1 : f32, i64
  } merge {
  ^bb0(%a: f32, %b: i64, %c: f32, %d: i64):
    %s1 = arith.addf %a, %c : f32
    %n1 = arith.addi %b, %d : i64
    redfuse.yield %s1, %n1 : f32, i64
  } -> tensor<1024xf32>, tensor<1024xi64>
  %0 = redfuse.finalize {indexing_maps = [#r, #r, #r]}
       ins(%st#0, %st#1 : tensor<1024xf32>, tensor<1024xi64>) outs(%init : tensor<1024xf32>) {
  ^bb0(%s: f32, %n: i64):
    %c = arith.sitofp %n : i64 to f32
    %q = arith.divf %s, %c : f32
    redfuse.yield %q : f32
  } -> tensor<1024xf32>
  redfuse.yield %0 : tensor<1024xf32>
}
}

// -----

// A block for each multiprocessor: those of the next launch that find room ask the second-level cache
// for a part of their rows, 4 MB in all, before they wait.

// CHECK-LABEL: gpu.func @few_0
// CHECK-SAME: known_block_size = array<i32: 512, 1, 1>
// CHECK: "cp.async.bulk.prefetch.L2.global [$0], $1;"
// CHECK: "griddepcontrol.wait;"
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 128,
    l1 = 232448, l2 = 52428800, flops = 67000, bandwidth = 3300, launch_ns = 2000>} {
func.func @few(%x: memref<128x32768xf32>, %out: memref<128xf32>) {
  redfuse.launch @few_0 ins(%x : memref<128x32768xf32>) outs(%out : memref<128xf32>)
  return
}
redfuse.kernel @few_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1]>} {
^bb0(%x: tensor<128x32768xf32>, %init: tensor<128xf32>):
  %s0 = tensor.empty() : tensor<128xf32>
  %n0 = tensor.empty() : tensor<128xi64>
  %st:2 = redfuse.fold {indexing_maps = [#x, #r, #r], over = array<i64: 1>,
            identities = [0.000000e+00 : f32, 0 : i64]}
          ins(%x : tensor<128x32768xf32>) outs(%s0, %n0 : tensor<128xf32>, tensor<128xi64>)
  step {
  ^bb0(%v: f32, %s: f32, %n: i64):
    %one = arith.constant 1 : i64
    %ss = redfuse.reduce add %v over [1] into [0] : f32
    %ns = redfuse.reduce add %one over [1] into [0] : i64
    %s1 = arith.addf %s, %ss : f32
    %n1 = arith.addi %n, %ns : i64
    redfuse.yield %s1, %n1 : f32, i64
  } merge {
  ^bb0(%a: f32, %b: i64, %c: f32, %d: i64):
    %s1 = arith.addf %a, %c : f32
    %n1 = arith.addi %b, %d : i64
    redfuse.yield %s1, %n1 : f32, i64
  } -> tensor<128xf32>, tensor<128xi64>
  %0 = redfuse.finalize {indexing_maps = [#r, #r, #r]}
       ins(%st#0, %st#1 : tensor<128xf32>, tensor<128xi64>) outs(%init : tensor<128xf32>) {
  ^bb0(%s: f32, %n: i64):
    %c = arith.sitofp %n : i64 to f32
    %q = arith.divf %s, %c : f32
    redfuse.yield %q : f32
  } -> tensor<128xf32>
  redfuse.yield %0 : tensor<128xf32>
}
}
