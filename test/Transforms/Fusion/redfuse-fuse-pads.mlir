// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-fuse -split-input-file | FileCheck %s

#wrapped = affine_map<(n, c, h, w) -> (n, c, (h + 55) mod 56, (w + 55) mod 56)>
#id = affine_map<(n, c, h, w) -> (n, c, h, w)>
#x = affine_map<(n, o, h, w, c, i, j) -> (n, c, h + i, w + j)>
#w = affine_map<(n, o, h, w, c, i, j) -> (o, c, i, j)>
#y = affine_map<(n, o, h, w, c, i, j) -> (n, o, h, w)>

// Zeros around a tensor belong to the convolution that reads them, not to the one that makes it.
// CHECK-LABEL: func.func @zeros
// CHECK: %[[Y:.+]] = redfuse.cascade
// CHECK: redfuse.reduce add
// CHECK: arith.maximumf
// CHECK-NOT: arith.select
// CHECK: } -> tensor<16x128x56x56xbf16>
// CHECK: redfuse.cascade {{.*}} ins(%[[Y]],
// CHECK: arith.select
// CHECK: redfuse.reduce add
func.func @zeros(%a: tensor<16x64x58x58xbf16>, %u: tensor<128x64x3x3xbf16>, %v: tensor<128x128x3x3xbf16>) -> tensor<16x128x56x56xf32> {
  %c57 = arith.constant 57 : index
  %c1 = arith.constant 1 : index
  %cst = arith.constant 0.0 : f32
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<16x128x56x56xf32>
  %s = redfuse.cascade {indexing_maps = [#x, #w, #y]} ins(%a, %u : tensor<16x64x58x58xbf16>, tensor<128x64x3x3xbf16>) outs(%e : tensor<16x128x56x56xf32>) {
  ^bb0(%p: bf16, %q: bf16):
    %0 = arith.extf %p : bf16 to f32
    %1 = arith.extf %q : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = redfuse.reduce add %2 over [4, 5, 6] into [0, 1, 2, 3] : f32
    redfuse.yield %3 : f32
  } -> tensor<16x128x56x56xf32>
  %f = tensor.empty() : tensor<16x128x56x56xbf16>
  %r = redfuse.cascade {indexing_maps = [#id, #id]} ins(%s : tensor<16x128x56x56xf32>) outs(%f : tensor<16x128x56x56xbf16>) {
  ^bb0(%p: f32):
    %0 = arith.maximumf %p, %cst : f32
    %1 = arith.truncf %0 : f32 to bf16
    redfuse.yield %1 : bf16
  } -> tensor<16x128x56x56xbf16>
  %g = tensor.empty() : tensor<16x128x58x58xbf16>
  %t = redfuse.cascade {indexing_maps = [#wrapped, #id]} ins(%r : tensor<16x128x56x56xbf16>) outs(%g : tensor<16x128x58x58xbf16>) {
  ^bb0(%p: bf16):
    %0 = redfuse.index 2
    %1 = arith.cmpi sge, %0, %c1 : index
    %2 = arith.cmpi slt, %0, %c57 : index
    %3 = arith.andi %1, %2 : i1
    %4 = redfuse.index 3
    %5 = arith.cmpi sge, %4, %c1 : index
    %6 = arith.andi %3, %5 : i1
    %7 = arith.cmpi slt, %4, %c57 : index
    %8 = arith.andi %6, %7 : i1
    %9 = arith.select %8, %p, %zero : bf16
    redfuse.yield %9 : bf16
  } -> tensor<16x128x58x58xbf16>
  %z = redfuse.cascade {indexing_maps = [#x, #w, #y]} ins(%t, %v : tensor<16x128x58x58xbf16>, tensor<128x128x3x3xbf16>) outs(%e : tensor<16x128x56x56xf32>) {
  ^bb0(%p: bf16, %q: bf16):
    %0 = arith.extf %p : bf16 to f32
    %1 = arith.extf %q : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = redfuse.reduce add %2 over [4, 5, 6] into [0, 1, 2, 3] : f32
    redfuse.yield %3 : f32
  } -> tensor<16x128x56x56xf32>
  return %z : tensor<16x128x56x56xf32>
}

// -----

#rows = affine_map<(i, k) -> (i, k)>
#row = affine_map<(i, k) -> (i)>
#a = affine_map<(i, j, k) -> (i, k)>
#s = affine_map<(i, j, k) -> (i)>
#b = affine_map<(i, j, k) -> (j, k)>
#o = affine_map<(i, j, k) -> (i, j)>

// Two rows by 2048 columns behind a sum of the rows: splits would leave 2048 sums each, for two
// blocks to merge.
// CHECK-LABEL: func.func @few_rows
// CHECK: redfuse.cascade
// CHECK: } -> tensor<2xf32>
// CHECK: redfuse.cascade
// CHECK: } -> tensor<2x2048xf32>
func.func @few_rows(%x: tensor<2x512xf32>, %w: tensor<2048x512xbf16>) -> tensor<2x2048xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %m = redfuse.cascade {indexing_maps = [#rows, #row]} ins(%x : tensor<2x512xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%p: f32):
    %0 = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %0 : f32
  } -> tensor<2xf32>
  %f = tensor.empty() : tensor<2x2048xf32>
  %y = redfuse.cascade {indexing_maps = [#a, #s, #b, #o]} ins(%x, %m, %w : tensor<2x512xf32>, tensor<2xf32>, tensor<2048x512xbf16>) outs(%f : tensor<2x2048xf32>) {
  ^bb0(%p: f32, %q: f32, %r: bf16):
    %0 = arith.subf %p, %q : f32
    %1 = arith.extf %r : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = redfuse.reduce add %2 over [2] into [0, 1] : f32
    redfuse.yield %3 : f32
  } -> tensor<2x2048xf32>
  return %y : tensor<2x2048xf32>
}
