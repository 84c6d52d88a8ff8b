// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-plan-registers -split-input-file | FileCheck %s --check-prefixes=CHECK,OLD
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-registers -split-input-file | FileCheck %s --check-prefixes=CHECK,NEW
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-registers=strict=1 -split-input-file | FileCheck %s --check-prefixes=CHECK,STRICT
// RUN: redfuse-opt %s -redfuse-attach-target=chip=gfx942 -redfuse-plan-registers -split-input-file | FileCheck %s --check-prefix=WAVE

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// A warp, or a wave, has a row: 4 elements at a time. Launches of one kernel share the layout.
// CHECK-LABEL: func.func @rows
// CHECK: redfuse.launch @rows_0 {{.*}} {redfuse.registers = #redfuse.register_layout<threads = 32, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 4, repeats = 2, threads = 32, bit = 0>],
// CHECK-NEXT: redfuse.launch @rows_0 {{.*}} {redfuse.registers = #redfuse.register_layout<threads = 32,
// WAVE: redfuse.launch @rows_0 {{.*}} {redfuse.registers = #redfuse.register_layout<threads = 64, {{.*}} <lanes = 4, repeats = 1, threads = 64, bit = 0>],
func.func @rows(%x: memref<64x256xf32>, %y: memref<64x256xf32>, %out: memref<64xf32>) {
  redfuse.launch @rows_0 ins(%x : memref<64x256xf32>) outs(%out : memref<64xf32>)
  redfuse.launch @rows_0 ins(%y : memref<64x256xf32>) outs(%out : memref<64xf32>)
  return
}
redfuse.kernel @rows_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x256xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x256xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// The cache is asked for a part of each row before the kernel waits for the one before it, where
// kernels do that.
// CHECK-LABEL: func.func @ahead
// OLD: ahead = [], ahead_tiles = 0
// NEW: ahead = [<argument = 0, map = #{{.*}}, bytes = 4096>], ahead_tiles = 0
// STRICT: ahead = [], ahead_tiles = 0
func.func @ahead(%x: memref<64x1024xf32>, %out: memref<64xf32>) {
  redfuse.launch @ahead_0 ins(%x : memref<64x1024xf32>) outs(%out : memref<64xf32>)
  return
}
redfuse.kernel @ahead_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x1024xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x1024xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> ()>

// Steps of a split over rows have whole rows: more than the lanes of a warp hold is shared by a
// block.
// CHECK-LABEL: func.func @losses
// CHECK: redfuse.registers = #redfuse.register_layout<threads = 512, cluster = 1, lanes = 4, dims = [<lanes = 1, repeats = {{[24]}}, threads = 1, bit = 0>, <lanes = 4, repeats = 4, threads = 512, bit = 0>],
func.func @losses(%x: memref<32768x8192xf32>, %out: memref<f32>) {
  redfuse.launch @losses_0 ins(%x : memref<32768x8192xf32>) outs(%out : memref<f32>)
  return
}
redfuse.kernel @losses_0 attributes {num_inputs = 1 : i64, redfuse.merges_in_launch,
    schedule = #redfuse.schedule<split, grid = [], tiles = [128, 8192], stream = [0], splits = 256>} {
^bb0(%x: tensor<32768x8192xf32>, %init: tensor<f32>):
  %e = tensor.empty() : tensor<f32>
  %f = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 0>, identities = [0.0 : f32]}
      ins(%x : tensor<32768x8192xf32>) outs(%e : tensor<f32>)
  step {
  ^bb0(%a: f32, %t: f32):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %n = math.sqrt %s : f32
    %l = redfuse.reduce add %n over [0] into [] : f32
    %u = arith.addf %t, %l : f32
    redfuse.yield %u : f32
  } merge {
  ^bb0(%t: f32, %u: f32):
    %s = arith.addf %t, %u : f32
    redfuse.yield %s : f32
  } -> tensor<f32>
  %r = redfuse.finalize {indexing_maps = [#r, #r]} ins(%f : tensor<f32>) outs(%init : tensor<f32>) {
  ^bb0(%t: f32):
    redfuse.yield %t : f32
  } -> tensor<f32>
  redfuse.yield %r : tensor<f32>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// A warp scans a row where there are rows for all; several do where there are few.
// CHECK-LABEL: func.func @prefixes
// CHECK: redfuse.launch @prefixes_0 {{.*}} <lanes = 4, repeats = 8, threads = 32, bit = 0>],
// CHECK: redfuse.launch @few_0 {{.*}} <lanes = 4, repeats = {{[0-9]+}}, threads = 256, bit = 0>],
func.func @prefixes(%x: memref<32768x32768xf32>, %out: memref<32768x32768xf32>,
                    %y: memref<8x32768xf32>, %few: memref<8x32768xf32>) {
  redfuse.launch @prefixes_0 ins(%x : memref<32768x32768xf32>) outs(%out : memref<32768x32768xf32>)
  redfuse.launch @few_0 ins(%y : memref<8x32768xf32>) outs(%few : memref<8x32768xf32>)
  return
}
redfuse.kernel @prefixes_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1]>} {
^bb0(%x: tensor<32768x32768xf32>, %init: tensor<32768x32768xf32>):
  %e = tensor.empty() : tensor<32768xf32>
  %f:2 = redfuse.fold {indexing_maps = [#x, #r, #x], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<32768x32768xf32>) outs(%e, %init : tensor<32768xf32>, tensor<32768x32768xf32>)
  step {
  ^bb0(%a: f32, %t: f32):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %n = arith.addf %t, %s : f32
    %p = redfuse.scan add %a along 1 : f32
    %o = arith.addf %t, %p : f32
    redfuse.yield %n, %o : f32, f32
  } merge {
  ^bb0(%t: f32, %u: f32):
    %s = arith.addf %t, %u : f32
    redfuse.yield %s : f32
  } -> tensor<32768xf32>, tensor<32768x32768xf32>
  redfuse.yield %f#1 : tensor<32768x32768xf32>
}
redfuse.kernel @few_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1]>} {
^bb0(%x: tensor<8x32768xf32>, %init: tensor<8x32768xf32>):
  %e = tensor.empty() : tensor<8xf32>
  %f:2 = redfuse.fold {indexing_maps = [#x, #r, #x], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<8x32768xf32>) outs(%e, %init : tensor<8xf32>, tensor<8x32768xf32>)
  step {
  ^bb0(%a: f32, %t: f32):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %n = arith.addf %t, %s : f32
    %p = redfuse.scan add %a along 1 : f32
    %o = arith.addf %t, %p : f32
    redfuse.yield %n, %o : f32, f32
  } merge {
  ^bb0(%t: f32, %u: f32):
    %s = arith.addf %t, %u : f32
    redfuse.yield %s : f32
  } -> tensor<8xf32>, tensor<8x32768xf32>
  redfuse.yield %f#1 : tensor<8x32768xf32>
}

// -----

#x = affine_map<(i, j, k) -> (i, j, k)>
#r = affine_map<(i, j, k) -> (i)>

// Rows of two dims: threads and steps go on along the second where the first has no more.
// CHECK-LABEL: func.func @planes
// CHECK: redfuse.launch @planes_0 {{.*}} dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 1, repeats = {{[48]}}, threads = {{[24]}}, bit = 7>, <lanes = 4, repeats = 1, threads = 128, bit = 0>],
func.func @planes(%x: memref<4096x512x512xf32>, %out: memref<4096xf32>) {
  redfuse.launch @planes_0 ins(%x : memref<4096x512x512xf32>) outs(%out : memref<4096xf32>)
  return
}
redfuse.kernel @planes_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 512, 512], stream = [1, 2]>} {
^bb0(%x: tensor<4096x512x512xf32>, %init: tensor<4096xf32>):
  %e = tensor.empty() : tensor<4096xf32>
  %f = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1, 2>, identities = [0.0 : f32]}
      ins(%x : tensor<4096x512x512xf32>) outs(%e : tensor<4096xf32>)
  step {
  ^bb0(%a: f32, %t: f32):
    %s = redfuse.reduce add %a over [1, 2] into [0] : f32
    %n = arith.addf %t, %s : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%t: f32, %u: f32):
    %s = arith.addf %t, %u : f32
    redfuse.yield %s : f32
  } -> tensor<4096xf32>
  %r = redfuse.finalize {indexing_maps = [#r, #r]} ins(%f : tensor<4096xf32>) outs(%init : tensor<4096xf32>) {
  ^bb0(%t: f32):
    redfuse.yield %t : f32
  } -> tensor<4096xf32>
  redfuse.yield %r : tensor<4096xf32>
}

// -----

#x = affine_map<(i, j, k) -> (i, j, k)>
#r = affine_map<(i, j, k) -> (i, k)>

// Columns of odd extent, of which little is stored: vectors begin anywhere, and the last of a
// tile has elements of the one before.
// CHECK-LABEL: func.func @columns
// CHECK: redfuse.launch @columns_0 {{.*}} <lanes = 4, repeats = 1, threads = 16, bit = 0>],
func.func @columns(%x: memref<128x4096x4095xf32>, %out: memref<128x4095xf32>) {
  redfuse.launch @columns_0 ins(%x : memref<128x4096x4095xf32>) outs(%out : memref<128x4095xf32>)
  return
}
redfuse.kernel @columns_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0, 2], tiles = [1, 4096, 64], stream = [1]>} {
^bb0(%x: tensor<128x4096x4095xf32>, %init: tensor<128x4095xf32>):
  %e = tensor.empty() : tensor<128x4095xf32>
  %f = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<128x4096x4095xf32>) outs(%e : tensor<128x4095xf32>)
  step {
  ^bb0(%a: f32, %t: f32):
    %s = redfuse.reduce add %a over [1] into [0, 2] : f32
    %n = arith.addf %t, %s : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%t: f32, %u: f32):
    %s = arith.addf %t, %u : f32
    redfuse.yield %s : f32
  } -> tensor<128x4095xf32>
  %r = redfuse.finalize {indexing_maps = [#r, #r]} ins(%f : tensor<128x4095xf32>) outs(%init : tensor<128x4095xf32>) {
  ^bb0(%t: f32):
    redfuse.yield %t : f32
  } -> tensor<128x4095xf32>
  redfuse.yield %r : tensor<128x4095xf32>
}

// -----

#x = affine_map<(i, j, k) -> (i, j, k)>
#r = affine_map<(i, j, k) -> (i, k)>

// Where as much is stored as a quarter of what is read, neighbours in memory have a thread each.
// CHECK-LABEL: func.func @few
// CHECK: redfuse.launch @few_0 {{.*}} <lanes = 1, repeats = 2, threads = 32, bit = 0>],
func.func @few(%x: memref<128x4x4095xf32>, %out: memref<128x4095xf32>) {
  redfuse.launch @few_0 ins(%x : memref<128x4x4095xf32>) outs(%out : memref<128x4095xf32>)
  return
}
redfuse.kernel @few_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<stream, grid = [0, 2], tiles = [1, 4, 64], stream = [1]>} {
^bb0(%x: tensor<128x4x4095xf32>, %init: tensor<128x4095xf32>):
  %e = tensor.empty() : tensor<128x4095xf32>
  %f = redfuse.fold {indexing_maps = [#x, #r], over = array<i64: 1>, identities = [0.0 : f32]}
      ins(%x : tensor<128x4x4095xf32>) outs(%e : tensor<128x4095xf32>)
  step {
  ^bb0(%a: f32, %t: f32):
    %s = redfuse.reduce add %a over [1] into [0, 2] : f32
    %n = arith.addf %t, %s : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%t: f32, %u: f32):
    %s = arith.addf %t, %u : f32
    redfuse.yield %s : f32
  } -> tensor<128x4095xf32>
  %r = redfuse.finalize {indexing_maps = [#r, #r]} ins(%f : tensor<128x4095xf32>) outs(%init : tensor<128x4095xf32>) {
  ^bb0(%t: f32):
    redfuse.yield %t : f32
  } -> tensor<128x4095xf32>
  redfuse.yield %r : tensor<128x4095xf32>
}

// -----

#m = affine_map<(i, j) -> (i)>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (j)>

// A thread has all three coordinates of its four points: they lie behind each other.
// CHECK-LABEL: func.func @points
// CHECK: redfuse.launch @points_0 {{.*}} dims = [<lanes = 4, {{[^>]*}}>, <lanes = 1, repeats = 3, threads = 1, bit = 0>],
func.func @points(%m: memref<32768xf32>, %x: memref<32768x3xf32>, %out: memref<3xf32>) {
  redfuse.launch @points_0 ins(%m, %x : memref<32768xf32>, memref<32768x3xf32>) outs(%out : memref<3xf32>)
  return
}
redfuse.kernel @points_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<stream, tiles = [512, 0], stream = [0]>} {
^bb0(%m: tensor<32768xf32>, %x: tensor<32768x3xf32>, %init: tensor<3xf32>):
  %e = tensor.empty() : tensor<3xf32>
  %f = redfuse.fold {indexing_maps = [#m, #x, #r], over = array<i64: 0>, identities = [0.0 : f32]}
      ins(%m, %x : tensor<32768xf32>, tensor<32768x3xf32>) outs(%e : tensor<3xf32>)
  step {
  ^bb0(%a: f32, %b: f32, %t: f32):
    %p = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %p over [0] into [1] : f32
    %n = arith.addf %t, %s : f32
    redfuse.yield %n : f32
  } merge {
  ^bb0(%t: f32, %u: f32):
    %s = arith.addf %t, %u : f32
    redfuse.yield %s : f32
  } -> tensor<3xf32>
  %r = redfuse.finalize {indexing_maps = [#r, #r]} ins(%f : tensor<3xf32>) outs(%init : tensor<3xf32>) {
  ^bb0(%t: f32):
    redfuse.yield %t : f32
  } -> tensor<3xf32>
  redfuse.yield %r : tensor<3xf32>
}

// -----

#x = affine_map<(i, j, k, a, b) -> (i, j + a, k + b)>
#w = affine_map<(i, j, k, a, b) -> (i, a, b)>
#o = affine_map<(i, j, k, a, b) -> (i, j, k)>

// A thread has windows to itself, of results one below the other.
// CHECK-LABEL: func.func @windows
// CHECK: redfuse.launch @windows_0 {{.*}}threads = 256, cluster = 1, lanes = 1, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 1, repeats = 3, threads = 1, bit = 0>, <lanes = 1, repeats = 2, threads = 256, bit = 0>, <lanes = 1, repeats = 3, threads = 1, bit = 0>, <lanes = 1, repeats = 3, threads = 1, bit = 0>],
func.func @windows(%x: memref<64x512x512xf32>, %w: memref<64x3x3xf32>, %out: memref<64x510x510xf32>) {
  redfuse.launch @windows_0 ins(%x, %w : memref<64x512x512xf32>, memref<64x3x3xf32>)
                            outs(%out : memref<64x510x510xf32>)
  return
}
redfuse.kernel @windows_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1, 2], tiles = [1, 3, 510, 0, 0]>} {
^bb0(%x: tensor<64x512x512xf32>, %w: tensor<64x3x3xf32>, %init: tensor<64x510x510xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #w, #o]} ins(%x, %w : tensor<64x512x512xf32>, tensor<64x3x3xf32>)
      outs(%init : tensor<64x510x510xf32>) {
  ^bb0(%a: f32, %c: f32):
    %m = arith.mulf %a, %c : f32
    %s = redfuse.reduce add %m over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<64x510x510xf32>
  redfuse.yield %r : tensor<64x510x510xf32>
}

// -----

#x = affine_map<(i, j, k, a, b) -> (i, 11 * j + a, 11 * k + b)>
#w = affine_map<(i, j, k, a, b) -> (a, b)>
#o = affine_map<(i, j, k, a, b) -> (i, j, k)>

// Of large windows two blocks share a multiprocessor: the next kernel starts late, as all loads
// would have to be under way before.
// CHECK-LABEL: func.func @large_windows
// NEW: redfuse.launch @large_windows_0 {{.*}} blocks = 2, {{.*}} choices = [start_next_late]>
func.func @large_windows(%x: memref<64x2048x2048xf32>, %w: memref<11x11xi1>, %out: memref<64x186x186xf32>) {
  redfuse.launch @large_windows_0 ins(%x, %w : memref<64x2048x2048xf32>, memref<11x11xi1>)
                                  outs(%out : memref<64x186x186xf32>)
  return
}
redfuse.kernel @large_windows_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1, 2], tiles = [1, 1, 186, 0, 0]>} {
^bb0(%x: tensor<64x2048x2048xf32>, %w: tensor<11x11xi1>, %init: tensor<64x186x186xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #w, #o]} ins(%x, %w : tensor<64x2048x2048xf32>, tensor<11x11xi1>)
      outs(%init : tensor<64x186x186xf32>) {
  ^bb0(%a: f32, %c: i1):
    %s = redfuse.reduce add %a over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<64x186x186xf32>
  redfuse.yield %r : tensor<64x186x186xf32>
}

// -----

#x = affine_map<(n, j, i) -> (n, i, j)>
#y = affine_map<(n, j, i) -> (n, j, i)>

// Memory is contiguous along j and i: a thread has 8 x 8 elements of 16 bits, a warp eight threads
// along j (128 bytes to load) by four along i.
// CHECK-LABEL: func.func @transposed
// CHECK: redfuse.launch @transposed_0 {{.*}} #redfuse.register_layout<threads = 256, cluster = 1, lanes = 8, dims = [<lanes = 1, repeats = 1, threads = 1, bit = 0>, <lanes = 8, repeats = 1, threads = 8, bit = 0>, <lanes = 1, repeats = 8, threads = 32, bit = 3, run = 8>],
// WAVE: redfuse.launch @transposed_0 {{.*}} run = 8>
func.func @transposed(%x: memref<4x256x128xbf16>, %out: memref<4x128x256xbf16>) {
  redfuse.launch @transposed_0 ins(%x : memref<4x256x128xbf16>) outs(%out : memref<4x128x256xbf16>)
  return
}
redfuse.kernel @transposed_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<map, grid = [0, 1, 2], tiles = [1, 64, 256]>} {
^bb0(%x: tensor<4x256x128xbf16>, %init: tensor<4x128x256xbf16>):
  %r = redfuse.cascade {indexing_maps = [#x, #y]} ins(%x : tensor<4x256x128xbf16>) outs(%init : tensor<4x128x256xbf16>) {
  ^bb0(%e: bf16):
    %s = arith.mulf %e, %e : bf16
    redfuse.yield %s : bf16
  } -> tensor<4x128x256xbf16>
  redfuse.yield %r : tensor<4x128x256xbf16>
}

// -----

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Rows of an open extent have no place in registers.
// CHECK-LABEL: func.func @open
// CHECK: redfuse.launch @open_0 {{.*}} {redfuse.no_registers = "how much of a dim a block has is known at run time only"}
func.func @open(%x: memref<64x?xf32>, %out: memref<64xf32>) {
  redfuse.launch @open_0 ins(%x : memref<64x?xf32>) outs(%out : memref<64xf32>)
  return
}
redfuse.kernel @open_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<64x?xf32>, %init: tensor<64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<64x?xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%e: f32):
    %s = redfuse.reduce add %e over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<64xf32>
  redfuse.yield %r : tensor<64xf32>
}

// -----

#x = affine_map<(b, i, j) -> (b, i, j)>

// A thread scans rows that are neighbours, of vectors along the contiguous dim; a tile may
// end among them.
// CHECK-LABEL: func.func @columns
// CHECK: redfuse.launch @even_0 {{.*}} <lanes = 1, repeats = [[E:[0-9]+]], threads = {{[0-9]+}}, bit = {{[0-9]}}, run = [[E]]>,
// CHECK: redfuse.launch @odd_0 {{.*}} <lanes = 1, repeats = [[N:[0-9]+]], threads = {{[0-9]+}}, bit = {{[0-9]}}, run = [[N]]>,
func.func @columns(%x: memref<64x64x64xf32>, %out: memref<64x64x64xf32>,
                   %y: memref<64x65x64xf32>, %odd: memref<64x65x64xf32>) {
  redfuse.launch @even_0 ins(%x : memref<64x64x64xf32>) outs(%out : memref<64x64x64xf32>)
  redfuse.launch @odd_0 ins(%y : memref<64x65x64xf32>) outs(%odd : memref<64x65x64xf32>)
  return
}
redfuse.kernel @even_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 2], tiles = [1, 0, 64]>} {
^bb0(%x: tensor<64x64x64xf32>, %init: tensor<64x64x64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<64x64x64xf32>) outs(%init : tensor<64x64x64xf32>) {
  ^bb0(%a: f32):
    %p = redfuse.scan add %a along 1 : f32
    redfuse.yield %p : f32
  } -> tensor<64x64x64xf32>
  redfuse.yield %r : tensor<64x64x64xf32>
}
redfuse.kernel @odd_0 attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 2], tiles = [1, 0, 64]>} {
^bb0(%x: tensor<64x65x64xf32>, %init: tensor<64x65x64xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<64x65x64xf32>) outs(%init : tensor<64x65x64xf32>) {
  ^bb0(%a: f32):
    %p = redfuse.scan add %a along 1 : f32
    redfuse.yield %p : f32
  } -> tensor<64x65x64xf32>
  redfuse.yield %r : tensor<64x65x64xf32>
}
