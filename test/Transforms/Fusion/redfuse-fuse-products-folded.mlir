// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-fuse -split-input-file | FileCheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
#r = affine_map<(m, n) -> (m)>

// A product of long sums whose columns are all reduced is never stored: one kernel folds it.
// CHECK-LABEL: func.func @folded(
// CHECK-COUNT-1: redfuse.cascade
// CHECK: redfuse.reduce add %{{.*}} over [2] into [0, 1] : f32
// CHECK: redfuse.reduce maximumf %{{.*}} over [1] into [0] : f32
// CHECK-NOT: redfuse.cascade
// CHECK: return
func.func @folded(%a: tensor<8192x4096xbf16>, %b: tensor<32000x4096xbf16>) -> tensor<8192xf32> {
  %ce = tensor.empty() : tensor<8192x32000xf32>
  %re = tensor.empty() : tensor<8192xf32>
  %p = redfuse.cascade {indexing_maps = [#a, #b, #c]} ins(%a, %b : tensor<8192x4096xbf16>, tensor<32000x4096xbf16>) outs(%ce : tensor<8192x32000xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %w = arith.mulf %u, %v : f32
    %s = redfuse.reduce add %w over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<8192x32000xf32>
  %m = redfuse.cascade {indexing_maps = [#e, #r]} ins(%p : tensor<8192x32000xf32>) outs(%re : tensor<8192xf32>) {
  ^bb0(%x: f32):
    %s = redfuse.reduce maximumf %x over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<8192xf32>
  return %m : tensor<8192xf32>
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
#r = affine_map<(m, n) -> (m)>

// What is stored as well needs the maximum of all columns first: two kernels.
// CHECK-LABEL: func.func @stored(
// CHECK: redfuse.cascade
// CHECK: redfuse.reduce add %{{.*}} over [2] into [0, 1] : f32
// CHECK: redfuse.cascade
// CHECK: redfuse.reduce maximumf
func.func @stored(%a: tensor<8192x4096xbf16>, %b: tensor<32000x4096xbf16>) -> tensor<8192x32000xf32> {
  %ce = tensor.empty() : tensor<8192x32000xf32>
  %re = tensor.empty() : tensor<8192xf32>
  %p = redfuse.cascade {indexing_maps = [#a, #b, #c]} ins(%a, %b : tensor<8192x4096xbf16>, tensor<32000x4096xbf16>) outs(%ce : tensor<8192x32000xf32>) {
  ^bb0(%x: bf16, %y: bf16):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %w = arith.mulf %u, %v : f32
    %s = redfuse.reduce add %w over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<8192x32000xf32>
  %m = redfuse.cascade {indexing_maps = [#e, #r]} ins(%p : tensor<8192x32000xf32>) outs(%re : tensor<8192xf32>) {
  ^bb0(%x: f32):
    %s = redfuse.reduce maximumf %x over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<8192xf32>
  %d = redfuse.cascade {indexing_maps = [#e, #r, #e]} ins(%p, %m : tensor<8192x32000xf32>, tensor<8192xf32>) outs(%ce : tensor<8192x32000xf32>) {
  ^bb0(%x: f32, %y: f32):
    %s = arith.subf %x, %y : f32
    redfuse.yield %s : f32
  } -> tensor<8192x32000xf32>
  return %d : tensor<8192x32000xf32>
}

// -----

#e = affine_map<(m, n) -> (m, n)>
#r = affine_map<(m, n) -> (m)>
#i = affine_map<(m) -> (m)>
#none = affine_map<(m) -> ()>

// The mean of the rows' losses waits for whole rows, which no split of the columns has: a
// kernel of its own, so that rows are not held by one block each.
// CHECK-LABEL: func.func @mean(
// CHECK: redfuse.reduce add %{{.*}} over [1] into [0] : f32
// CHECK: redfuse.cascade
// CHECK: redfuse.reduce add %{{.*}} over [0] into [] : f32
func.func @mean(%x: tensor<64x128256xf32>) -> tensor<f32> {
  %re = tensor.empty() : tensor<64xf32>
  %se = tensor.empty() : tensor<f32>
  %m = redfuse.cascade {indexing_maps = [#e, #r]} ins(%x : tensor<64x128256xf32>) outs(%re : tensor<64xf32>) {
  ^bb0(%v: f32):
    %t = math.exp %v : f32
    %s = redfuse.reduce add %t over [1] into [0] : f32
    %l = math.log %s : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  %s = redfuse.cascade {indexing_maps = [#i, #none]} ins(%m : tensor<64xf32>) outs(%se : tensor<f32>) {
  ^bb0(%v: f32):
    %t = redfuse.reduce add %v over [0] into [] : f32
    redfuse.yield %t : f32
  } -> tensor<f32>
  return %s : tensor<f32>
}

// -----

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
#r = affine_map<(m, n) -> (m)>

// The same where the factors are extended by cascades of their own.
// CHECK-LABEL: func.func @extended(
// CHECK-COUNT-1: redfuse.cascade
// CHECK: redfuse.reduce add %{{.*}} over [2] into [0, 1] : f32
// CHECK: redfuse.reduce maximumf %{{.*}} over [1] into [0] : f32
// CHECK-NOT: redfuse.cascade
// CHECK: return
func.func @extended(%a: tensor<8192x4096xbf16>, %b: tensor<32000x4096xbf16>) -> tensor<8192xf32> {
  %ae = tensor.empty() : tensor<8192x4096xf32>
  %be = tensor.empty() : tensor<32000x4096xf32>
  %ce = tensor.empty() : tensor<8192x32000xf32>
  %re = tensor.empty() : tensor<8192xf32>
  %aw = redfuse.cascade {indexing_maps = [#e, #e]} ins(%a : tensor<8192x4096xbf16>) outs(%ae : tensor<8192x4096xf32>) {
  ^bb0(%x: bf16):
    %u = arith.extf %x : bf16 to f32
    redfuse.yield %u : f32
  } -> tensor<8192x4096xf32>
  %bw = redfuse.cascade {indexing_maps = [#e, #e]} ins(%b : tensor<32000x4096xbf16>) outs(%be : tensor<32000x4096xf32>) {
  ^bb0(%x: bf16):
    %u = arith.extf %x : bf16 to f32
    redfuse.yield %u : f32
  } -> tensor<32000x4096xf32>
  %p = redfuse.cascade {indexing_maps = [#a, #b, #c]} ins(%aw, %bw : tensor<8192x4096xf32>, tensor<32000x4096xf32>) outs(%ce : tensor<8192x32000xf32>) {
  ^bb0(%u: f32, %v: f32):
    %w = arith.mulf %u, %v : f32
    %s = redfuse.reduce add %w over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<8192x32000xf32>
  %m = redfuse.cascade {indexing_maps = [#e, #r]} ins(%p : tensor<8192x32000xf32>) outs(%re : tensor<8192xf32>) {
  ^bb0(%x: f32):
    %s = redfuse.reduce maximumf %x over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<8192xf32>
  return %m : tensor<8192xf32>
}
