// RUN: redfuse-opt %s -redfuse-fuse -split-input-file | FileCheck %s

// What stays apart leaves an entry that says why.

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#ij = affine_map<(i, j, k) -> (i, j)>
#w = affine_map<(x, y, k) -> (x + k, y)>
#k = affine_map<(x, y, k) -> (k)>
#o = affine_map<(x, y, k) -> (x, y)>

// A contraction behind a window would be computed once for every tap.
// CHECK-LABEL: func.func @window
// CHECK-SAME:  condition = "recompute"
// CHECK-SAME:  detail = "its producer at {{.*}} stays in another kernel: the value made at {{.*}} would be computed 2.7 times"
// CHECK-SAME:  location = "{{.*}}redfuse-fuse-invalid.mlir:27:{{.*}}"
// CHECK-COUNT-2: redfuse.cascade
func.func @window(%a: tensor<20x8xf32>, %b: tensor<8x6xf32>, %f: tensor<3xf32>) -> tensor<18x6xf32> {
  %e = tensor.empty() : tensor<20x6xf32>
  %r = tensor.empty() : tensor<18x6xf32>
  %0 = redfuse.cascade {indexing_maps = [#ik, #kj, #ij]} ins(%a, %b : tensor<20x8xf32>, tensor<8x6xf32>) outs(%e : tensor<20x6xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<20x6xf32>
  %1 = redfuse.cascade {indexing_maps = [#w, #k, #o]} ins(%0, %f : tensor<20x6xf32>, tensor<3xf32>) outs(%r : tensor<18x6xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<18x6xf32>
  return %1 : tensor<18x6xf32>
}

// -----

#s = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>
#c = affine_map<(i, j) -> (i)>

// A contraction against itself: its rows are needed at two places.
#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#jk = affine_map<(i, j, k) -> (j, k)>
#ij = affine_map<(i, j, k) -> (i, j)>
// CHECK-LABEL: func.func @twice
// CHECK-SAME:  condition = "recompute"
// CHECK-COUNT-2: redfuse.cascade
func.func @twice(%a: tensor<200x80xf32>, %b: tensor<80x60xf32>) -> tensor<200x200xf32> {
  %e = tensor.empty() : tensor<200x60xf32>
  %r = tensor.empty() : tensor<200x200xf32>
  %0 = redfuse.cascade {indexing_maps = [#ik, #kj, #ij]} ins(%a, %b : tensor<200x80xf32>, tensor<80x60xf32>) outs(%e : tensor<200x60xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<200x60xf32>
  %1 = redfuse.cascade {indexing_maps = [#ik, #jk, #ij]} ins(%0, %0 : tensor<200x60xf32>, tensor<200x60xf32>) outs(%r : tensor<200x200xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<200x200xf32>
  return %1 : tensor<200x200xf32>
}

// -----

#s = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// A long reduction of rows, then over the rows: one kernel would have one block.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME:  condition = "parallelism"
// CHECK-SAME:  one kernel would have 1 independent blocks for 2 units
// CHECK-COUNT-2: redfuse.cascade
func.func @blocks(%x: tensor<4096x4096xf32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<4096xf32>
  %f = tensor.empty() : tensor<f32>
  %0 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%x : tensor<4096x4096xf32>) outs(%e : tensor<4096xf32>) {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    %t = redfuse.reduce add %b over [1] into [0] : f32
    redfuse.yield %t : f32
  } -> tensor<4096xf32>
  %1 = redfuse.cascade {indexing_maps = [#one, #none]} ins(%0 : tensor<4096xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32):
    %b = math.log %a : f32
    %t = redfuse.reduce add %b over [0] into [] : f32
    redfuse.yield %t : f32
  } -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

#s = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// An op between them that is not a cascade.
// CHECK-LABEL: func.func @between
// CHECK-SAME:  condition = "convexity"
// CHECK-COUNT-2: redfuse.cascade
func.func @between(%x: tensor<64x64xf32>, %at: tensor<64x1xi64>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %f = tensor.empty() : tensor<64x64xf32>
  %0 = redfuse.cascade {indexing_maps = [#s, #s]} ins(%x : tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    redfuse.yield %b : f32
  } -> tensor<64x64xf32>
  %g = tensor.gather %0[%at] gather_dims([0]) : (tensor<64x64xf32>, tensor<64x1xi64>) -> tensor<64x64xf32>
  %1 = redfuse.cascade {indexing_maps = [#s, #s, #r]} ins(%0, %g : tensor<64x64xf32>, tensor<64x64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    %t = redfuse.reduce add %c over [1] into [0] : f32
    redfuse.yield %t : f32
  } -> tensor<64xf32>
  return %1 : tensor<64xf32>
}

// -----

#v = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// What is no body stands between them.
// CHECK-LABEL: func.func @reshaped
// CHECK-SAME:  condition = "not raised"
// CHECK-SAME:  detail = "'tensor.collapse_shape' at {{.*}} stands between it and its producer at
// CHECK-COUNT-2: redfuse.cascade
func.func @reshaped(%x: tensor<4x6xf32>) -> tensor<24xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %m = tensor.empty() : tensor<4x6xf32>
  %f = tensor.empty() : tensor<24xf32>
  %0 = redfuse.cascade {indexing_maps = [#v, #v]} ins(%x : tensor<4x6xf32>) outs(%m : tensor<4x6xf32>) {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    redfuse.yield %b : f32
  } -> tensor<4x6xf32>
  %c = tensor.collapse_shape %0 [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
  %1 = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} ins(%c : tensor<24xf32>) outs(%f : tensor<24xf32>) {
  ^bb0(%a: f32):
    %b = math.log %a : f32
    redfuse.yield %b : f32
  } -> tensor<24xf32>
  return %1 : tensor<24xf32>
}

// -----

#s = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// Blocks of a GPU could have splits of the rows, if threads could hold one of 50,257 elements.
// CHECK-LABEL: func.func @held
// CHECK-SAME:  condition = "parallelism"
// CHECK-SAME:  one kernel would have 1 independent blocks for 132 units
// CHECK-COUNT-2: redfuse.cascade
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">} {
func.func @held(%x: tensor<4096x50257xf32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<4096xf32>
  %f = tensor.empty() : tensor<f32>
  %0 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%x : tensor<4096x50257xf32>) outs(%e : tensor<4096xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce maximumf %a over [1] into [0] : f32
    redfuse.yield %t : f32
  } -> tensor<4096xf32>
  %1 = redfuse.cascade {indexing_maps = [#one, #none]} ins(%0 : tensor<4096xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce add %a over [0] into [] : f32
    redfuse.yield %t : f32
  } -> tensor<f32>
  return %1 : tensor<f32>
}
}
