// RUN: redfuse-opt %s -redfuse-collapse-dims | FileCheck %s

#x = affine_map<(n, h, w, c) -> (n, c, h, w)>
#y = affine_map<(n, h, w, c) -> (n, h, w, c)>
#bias = affine_map<(n, h, w, c) -> (c)>

// Height and width are neighbours in all tensors that have them.
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
// CHECK-DAG: #[[Y:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-LABEL: func.func @pixels
// CHECK:         %[[IN:.*]] = tensor.collapse_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] : tensor<2x16x7x5xf32> into tensor<2x16x35xf32>
// CHECK:         %[[OUT:.*]] = tensor.empty() : tensor<2x35x16xf32>
// CHECK:         %[[R:.*]] = redfuse.cascade {indexing_maps = [#[[X]], #[[B]], #[[Y]]]} ins(%[[IN]], %{{.*}} : tensor<2x16x35xf32>, tensor<16xf32>) outs(%[[OUT]] :
// CHECK:         tensor.expand_shape %[[R]] {{\[\[}}0], [1, 2], [3]] output_shape [2, 7, 5, 16] : tensor<2x35x16xf32> into tensor<2x7x5x16xf32>
func.func @pixels(%x: tensor<2x16x7x5xf32>, %b: tensor<16xf32>) -> tensor<2x7x5x16xf32> {
  %e = tensor.empty() : tensor<2x7x5x16xf32>
  %r = redfuse.cascade {indexing_maps = [#x, #bias, #y]} ins(%x, %b : tensor<2x16x7x5xf32>, tensor<16xf32>) outs(%e : tensor<2x7x5x16xf32>) {
  ^bb0(%a: f32, %c: f32):
    %s = arith.addf %a, %c : f32
    redfuse.yield %s : f32
  } -> tensor<2x7x5x16xf32>
  return %r : tensor<2x7x5x16xf32>
}

#all = affine_map<(n, c, h, p, w, q) -> (n, c, h, p, w, q)>
#rows = affine_map<(n, c, h, p, w, q) -> (n, c)>

// A reduction of many dims: those that are folded are one, those that stay another.
// CHECK-LABEL: func.func @phases
// CHECK:         redfuse.cascade {{.*}} ins(%{{.*}} : tensor<6x120xf32>) outs(%{{.*}} : tensor<6xf32>)
// CHECK:           redfuse.reduce add %{{.*}} over [1] into [0] : f32
func.func @phases(%x: tensor<2x3x4x2x5x3xf32>) -> tensor<2x3xf32> {
  %e = tensor.empty() : tensor<2x3xf32>
  %r = redfuse.cascade {indexing_maps = [#all, #rows]} ins(%x : tensor<2x3x4x2x5x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [2, 3, 4, 5] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

#qh = affine_map<(b, h, q, n, d) -> (b, h, q, d)>
#kh = affine_map<(b, h, q, n, d) -> (b, n, d)>
#sh = affine_map<(b, h, q, n, d) -> (b, h, q)>

// Four heads and three queries of each are twelve rows of a product; where one asks for the
// query, it is told from the row.
// CHECK-LABEL: func.func @few_rows
// CHECK: redfuse.cascade {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2x12x64xbf16>, tensor<2x300x64xbf16>) outs(%{{.*}} : tensor<2x12xf32>)
// CHECK: %[[ROW:.*]] = redfuse.index 1
// CHECK: %[[QUERY:.*]] = arith.remui %[[ROW]], %{{.*}} : index
// CHECK: arith.cmpi sle, %{{.*}}, %[[QUERY]] : index
func.func @few_rows(%q: tensor<2x4x3x64xbf16>, %k: tensor<2x300x64xbf16>) -> tensor<2x4x3xf32> {
  %e = tensor.empty() : tensor<2x4x3xf32>
  %r = redfuse.cascade {indexing_maps = [#qh, #kh, #sh]} ins(%q, %k : tensor<2x4x3x64xbf16>, tensor<2x300x64xbf16>) outs(%e : tensor<2x4x3xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %cst = arith.constant 0xFF800000 : f32
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %m = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %m over [4] into [0, 1, 2, 3] : f32
    %i = redfuse.index 2
    %j = redfuse.index 3
    %in = arith.cmpi sle, %j, %i : index
    %t = arith.select %in, %s, %cst : f32
    %u = redfuse.reduce maximumf %t over [3] into [0, 1, 2] : f32
    redfuse.yield %u : f32
  } -> tensor<2x4x3xf32>
  return %r : tensor<2x4x3xf32>
}

#pc = affine_map<(c, n, h, w) -> (n, c, h, w)>
#pr = affine_map<(c, n, h, w) -> (c)>

// Planes of 10 x 10 are folded as rows of 100; those of 128 x 128 as they are.
// CHECK-LABEL: func.func @planes
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[0\], \[1\], \[2, 3\]\]}} : tensor<64x32x10x10xbf16> into tensor<64x32x100xbf16>
// CHECK: redfuse.reduce add %{{.*}} over [1, 2] into [0] : f32
// CHECK: redfuse.reduce add %{{.*}} over [1, 2, 3] into [0] : f32
func.func @planes(%x: tensor<64x32x10x10xbf16>, %y: tensor<64x32x128x128xbf16>, %e: tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %r = redfuse.cascade {indexing_maps = [#pc, #pr]} ins(%x : tensor<64x32x10x10xbf16>) outs(%e : tensor<32xf32>) {
  ^bb0(%a: bf16):
    %f = arith.extf %a : bf16 to f32
    %s = redfuse.reduce add %f over [1, 2, 3] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<32xf32>
  %q = redfuse.cascade {indexing_maps = [#pc, #pr]} ins(%y : tensor<64x32x128x128xbf16>) outs(%e : tensor<32xf32>) {
  ^bb0(%a: bf16):
    %f = arith.extf %a : bf16 to f32
    %s = redfuse.reduce add %f over [1, 2, 3] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<32xf32>
  return %r, %q : tensor<32xf32>, tensor<32xf32>
}


#every = affine_map<(a, b, c) -> (a, b, c)>

// Where all of a tensor is folded its rows mean nothing: a split can be cut anywhere.
// CHECK-LABEL: func.func @everything
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[0, 1, 2\]\]}} : tensor<28x461x512xbf16> into tensor<6608896xbf16>
// CHECK: redfuse.reduce add %{{.*}} over [0] into [] : f32
// CHECK: tensor.expand_shape %{{.*}} {{\[\[0, 1, 2\]\]}} {{.*}} into tensor<28x461x512xf32>
func.func @everything(%x: tensor<28x461x512xbf16>, %e: tensor<28x461x512xf32>) -> tensor<28x461x512xf32> {
  %r = redfuse.cascade {indexing_maps = [#every, #every]} ins(%x : tensor<28x461x512xbf16>) outs(%e : tensor<28x461x512xf32>) {
  ^bb0(%a: bf16):
    %f = arith.extf %a : bf16 to f32
    %s = redfuse.reduce add %f over [0, 1, 2] into [] : f32
    %d = arith.divf %f, %s : f32
    redfuse.yield %d : f32
  } -> tensor<28x461x512xf32>
  return %r : tensor<28x461x512xf32>
}

#windows = affine_map<(a, b, c, d, e, f, n) -> (a, b, c, d, e, f)>
#by_windows = affine_map<(a, b, c, d, e, f, n) -> (n, e, f)>
#by_n = affine_map<(a, b, c, d, e, f, n) -> (a, b, c, d, n)>
#only_n = affine_map<(a, b, c, d, e, f, n) -> (n)>

// A product of a tensor that has more dims than a box: no tensor has all dims. A constant is a
// tensor of its own, too.
// CHECK-LABEL: func.func @windows_by_weights
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[0, 1, 2, 3\], \[4, 5\]\]}} : tensor<2x8x7x8x3x32xbf16> into tensor<896x96xbf16>
// CHECK: redfuse.reduce add %{{.*}} over [1] into [0, 2] : f32
func.func @windows_by_weights(%x: tensor<2x8x7x8x3x32xbf16>, %w: tensor<64x3x32xbf16>, %e: tensor<2x8x7x8x64xf32>) -> tensor<2x8x7x8x64xf32> {
  %c = arith.constant dense<1.5> : tensor<64xf32>
  %r = redfuse.cascade {indexing_maps = [#windows, #by_windows, #only_n, #by_n]} ins(%x, %w, %c : tensor<2x8x7x8x3x32xbf16>, tensor<64x3x32xbf16>, tensor<64xf32>) outs(%e : tensor<2x8x7x8x64xf32>) {
  ^bb0(%a: bf16, %b: bf16, %k: f32):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [4, 5] into [0, 1, 2, 3, 6] : f32
    %t = arith.addf %s, %k : f32
    redfuse.yield %t : f32
  } -> tensor<2x8x7x8x64xf32>
  return %r : tensor<2x8x7x8x64xf32>
}

#all4 = affine_map<(b, r, t, s) -> (b, r, t, s)>
#w4 = affine_map<(b, r, t, s) -> (s)>
#no_s = affine_map<(b, r, t, s) -> (b, r, t)>

// Few rows of a product, of which prefixes are taken along one dim: that dim stays alone, and is
// the second of three now.
// CHECK-LABEL: func.func @prefixes
// CHECK: redfuse.scan add %{{.*}} along 1 : f32
// CHECK: redfuse.reduce add %{{.*}} over [2] into [0, 1] : f32
func.func @prefixes(%x: tensor<2x3x5x4xf32>, %w: tensor<4xf32>, %e: tensor<2x3x5xf32>) -> tensor<2x3x5xf32> {
  %r = redfuse.cascade {indexing_maps = [#all4, #w4, #no_s]} ins(%x, %w : tensor<2x3x5x4xf32>, tensor<4xf32>) outs(%e : tensor<2x3x5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = redfuse.scan add %a along 2 : f32
    %m = arith.mulf %p, %b : f32
    %s = redfuse.reduce add %m over [3] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<2x3x5xf32>
  return %r : tensor<2x3x5xf32>
}

// Rows that fill a tile in part are one, and then the sums are.
// CHECK-LABEL: func.func @rows_and_sums
// CHECK: redfuse.cascade {{.*}} tensor<33x4096xbf16>, tensor<512x4096xbf16>
// CHECK: redfuse.reduce add %{{.*}} over [2] into [0, 1] : f32
func.func @rows_and_sums(%x: tensor<3x11x512x8xbf16>, %w: tensor<512x512x8xbf16>, %e: tensor<3x11x512xf32>) -> tensor<3x11x512xf32> {
  %r = redfuse.cascade {indexing_maps = [affine_map<(h, i, j, k, l) -> (h, i, k, l)>, affine_map<(h, i, j, k, l) -> (j, k, l)>, affine_map<(h, i, j, k, l) -> (h, i, j)>]}
      ins(%x, %w : tensor<3x11x512x8xbf16>, tensor<512x512x8xbf16>) outs(%e : tensor<3x11x512xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<3x11x512xf32>
  return %r : tensor<3x11x512xf32>
}

#xk = affine_map<(i, j, k, l, m) -> (i, k, l, m)>
#wk = affine_map<(i, j, k, l, m) -> (j, k, l, m)>
#xw = affine_map<(i, j, k, l, m) -> (i, j)>

// The sums of a product that lie side by side in both factors are one.
// CHECK-LABEL: func.func @sums
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[0\], \[1, 2, 3\]\]}} : tensor<64x32x64x2xbf16> into tensor<64x4096xbf16>
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[0\], \[1, 2, 3\]\]}} : tensor<512x32x64x2xbf16> into tensor<512x4096xbf16>
// CHECK: redfuse.reduce add %{{.*}} over [2] into [0, 1] : f32
func.func @sums(%x: tensor<64x32x64x2xbf16>, %w: tensor<512x32x64x2xbf16>, %e: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %r = redfuse.cascade {indexing_maps = [#xk, #wk, #xw]} ins(%x, %w : tensor<64x32x64x2xbf16>, tensor<512x32x64x2xbf16>) outs(%e : tensor<64x512xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2, 3, 4] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x512xf32>
  return %r : tensor<64x512xf32>
}
