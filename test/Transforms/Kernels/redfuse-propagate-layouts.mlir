// RUN: redfuse-opt %s -split-input-file -redfuse-propagate-layouts | FileCheck %s

#target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288,
                          flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">
#x = affine_map<(n, o, h, w, i, j, c) -> (n, h + i, w + j, c)>
#w = affine_map<(n, o, h, w, i, j, c) -> (o, i, j, c)>
#y = affine_map<(n, o, h, w, i, j, c) -> (n, o, h, w)>
#t = affine_map<(n, h, w, c) -> (n, c, h, w)>
#id = affine_map<(n, h, w, c) -> (n, h, w, c)>
#pool = affine_map<(n, c, h, w, i, j) -> (n, c, h * 2 + i, w * 2 + j)>
#tap = affine_map<(n, c, h, w, i, j) -> (i, j)>
#pooled = affine_map<(n, c, h, w, i, j) -> (n, c, h, w)>

// A product stores as the pooling reads, which stores as the next product reads: channels last.
// CHECK-DAG: #[[X:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2 + d4, d3 + d5, d6)>
// CHECK-DAG: #[[LAST:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2, d3, d1)>
// CHECK-DAG: #[[FIRST:.+]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK-DAG: #[[WINDOW:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2 * 2 + d4, d3 * 2 + d5, d1)>
// CHECK-DAG: #[[POOLED:.+]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d3, d1)>
// CHECK-LABEL: func.func @pooled
// CHECK: %[[Y:.+]] = redfuse.cascade {indexing_maps = [#[[X]], #{{.+}}, #[[LAST]]]}
// CHECK-SAME: outs(%{{.+}} : tensor<2x12x12x16xf16>)
// CHECK: %[[P:.+]] = redfuse.cascade {indexing_maps = [#[[WINDOW]], #{{.+}}, #[[POOLED]]]} ins(%[[Y]], {{.*}}outs(%{{.+}} : tensor<2x6x6x16xf16>)
// CHECK: redfuse.cascade {indexing_maps = [#[[X]], #{{.+}}, #[[FIRST]]]} ins(%[[P]], %{{.+}} : tensor<2x6x6x16xf16>
module attributes {redfuse.target = #target} {
  func.func @pooled(%x: tensor<2x14x14x8xf16>, %u: tensor<16x3x3x8xf16>, %k: tensor<2x2xf16>,
                    %v: tensor<8x3x3x16xf16>) -> tensor<2x8x4x4xf16> {
    %e = tensor.empty() : tensor<2x16x12x12xf16>
    %y = redfuse.cascade {indexing_maps = [#x, #w, #y]}
        ins(%x, %u : tensor<2x14x14x8xf16>, tensor<16x3x3x8xf16>) outs(%e : tensor<2x16x12x12xf16>) {
    ^bb0(%a: f16, %b: f16):
      %m = arith.mulf %a, %b : f16
      %s = redfuse.reduce add %m over [4, 5, 6] into [0, 1, 2, 3] : f16
      redfuse.yield %s : f16
    } -> tensor<2x16x12x12xf16>
    %f = tensor.empty() : tensor<2x16x6x6xf16>
    %p = redfuse.cascade {indexing_maps = [#pool, #tap, #pooled]}
        ins(%y, %k : tensor<2x16x12x12xf16>, tensor<2x2xf16>) outs(%f : tensor<2x16x6x6xf16>) {
    ^bb0(%a: f16, %b: f16):
      %m = redfuse.reduce maximumf %a over [4, 5] into [0, 1, 2, 3] : f16
      redfuse.yield %m : f16
    } -> tensor<2x16x6x6xf16>
    %g = tensor.empty() : tensor<2x6x6x16xf16>
    %c = redfuse.cascade {indexing_maps = [#t, #id]} ins(%p : tensor<2x16x6x6xf16>)
        outs(%g : tensor<2x6x6x16xf16>) {
    ^bb0(%a: f16):
      redfuse.yield %a : f16
    } -> tensor<2x6x6x16xf16>
    %h = tensor.empty() : tensor<2x8x4x4xf16>
    %z = redfuse.cascade {indexing_maps = [#x, #w, #y]}
        ins(%c, %v : tensor<2x6x6x16xf16>, tensor<8x3x3x16xf16>) outs(%h : tensor<2x8x4x4xf16>) {
    ^bb0(%a: f16, %b: f16):
      %m = arith.mulf %a, %b : f16
      %s = redfuse.reduce add %m over [4, 5, 6] into [0, 1, 2, 3] : f16
      redfuse.yield %s : f16
    } -> tensor<2x8x4x4xf16>
    return %z : tensor<2x8x4x4xf16>
  }
}

// -----

#target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288,
                          flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">
#a = affine_map<(n, m, k) -> (n, k)>
#b = affine_map<(n, m, k) -> (m, k)>
#y = affine_map<(n, m, k) -> (n, m)>
#t = affine_map<(p, q, n) -> (n, p, q)>
#id = affine_map<(p, q, n) -> (p, q, n)>

// Dims that become several stay together. The caller has a copy as it was.
// CHECK-DAG: #[[ACROSS:.+]] = affine_map<(d0, d1, d2) -> (d1, d0)>
// CHECK-DAG: #[[BACK:.+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @returned
// CHECK: %[[Y:.+]] = redfuse.cascade {indexing_maps = [#{{.+}}, #{{.+}}, #[[ACROSS]]]}
// CHECK-SAME: outs(%{{.+}} : tensor<12x32xf32>)
// CHECK: %[[R:.+]] = redfuse.cascade {indexing_maps = [#[[BACK]], #{{.+}}]} ins(%[[Y]] : tensor<12x32xf32>)
// CHECK: %[[E:.+]] = tensor.expand_shape %[[Y]] {{\[\[}}0, 1], [2]] output_shape [3, 4, 32]
// CHECK: return %[[R]], %[[E]] :
module attributes {redfuse.target = #target} {
  func.func @returned(%x: tensor<32x8xf32>, %w: tensor<12x8xf32>) -> (tensor<32x12xf32>, tensor<3x4x32xf32>) {
    %e = tensor.empty() : tensor<32x12xf32>
    %y = redfuse.cascade {indexing_maps = [#a, #b, #y]}
        ins(%x, %w : tensor<32x8xf32>, tensor<12x8xf32>) outs(%e : tensor<32x12xf32>) {
    ^bb0(%a: f32, %b: f32):
      %m = arith.mulf %a, %b : f32
      %s = redfuse.reduce add %m over [2] into [0, 1] : f32
      redfuse.yield %s : f32
    } -> tensor<32x12xf32>
    %v = tensor.expand_shape %y [[0], [1, 2]] output_shape [32, 3, 4] : tensor<32x12xf32> into tensor<32x3x4xf32>
    %f = tensor.empty() : tensor<3x4x32xf32>
    %c = redfuse.cascade {indexing_maps = [#t, #id]} ins(%v : tensor<32x3x4xf32>)
        outs(%f : tensor<3x4x32xf32>) {
    ^bb0(%a: f32):
      redfuse.yield %a : f32
    } -> tensor<3x4x32xf32>
    return %y, %c : tensor<32x12xf32>, tensor<3x4x32xf32>
  }
}

// -----

#target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288,
                          flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">
#x = affine_map<(n, o, h, i, c) -> (n, h + i, c)>
#w = affine_map<(n, o, h, i, c) -> (o, i, c)>
#y = affine_map<(n, o, h, i, c) -> (n, o, h)>
#t = affine_map<(n, h, c) -> (n, c, h)>
#id = affine_map<(n, h, c) -> (n, h, c)>

// What is added to a product is read from the copy that is there, and what is only summed takes any order.
// CHECK-DAG: #[[LAST:.+]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1)>
// CHECK-DAG: #[[SUMMED:.+]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: func.func @added
// CHECK: %[[C:.+]] = redfuse.cascade {{.*}} outs(%{{.+}} : tensor<2x16x8xf16>)
// CHECK: %[[Y:.+]] = redfuse.cascade {indexing_maps = [#{{.+}}, #{{.+}}, #[[LAST]]]} ins(%[[C]], %{{.+}}outs(%{{.+}} : tensor<2x16x8xf16>)
// CHECK: %[[Z:.+]] = redfuse.cascade {indexing_maps = [#{{.+}}, #{{.+}}, #[[LAST]], #[[LAST]]]} ins(%[[Y]], %{{.+}}, %[[C]] {{.*}}outs(%{{.+}} : tensor<2x16x8xf16>)
// CHECK: redfuse.cascade {indexing_maps = [#[[SUMMED]], #{{.+}}]} ins(%[[Z]] : tensor<2x16x8xf16>)
module attributes {redfuse.target = #target} {
  func.func @added(%x: tensor<2x8x16xf16>, %u: tensor<8x1x8xf16>, %v: tensor<8x1x8xf16>) -> tensor<2x8xf16> {
    %g = tensor.empty() : tensor<2x16x8xf16>
    %c = redfuse.cascade {indexing_maps = [#t, #id]} ins(%x : tensor<2x8x16xf16>) outs(%g : tensor<2x16x8xf16>) {
    ^bb0(%a: f16):
      redfuse.yield %a : f16
    } -> tensor<2x16x8xf16>
    %e = tensor.empty() : tensor<2x8x16xf16>
    %y = redfuse.cascade {indexing_maps = [#x, #w, #y]}
        ins(%c, %u : tensor<2x16x8xf16>, tensor<8x1x8xf16>) outs(%e : tensor<2x8x16xf16>) {
    ^bb0(%a: f16, %b: f16):
      %m = arith.mulf %a, %b : f16
      %s = redfuse.reduce add %m over [3, 4] into [0, 1, 2] : f16
      redfuse.yield %s : f16
    } -> tensor<2x8x16xf16>
    %d = redfuse.cascade {indexing_maps = [#t, #id]} ins(%y : tensor<2x8x16xf16>) outs(%g : tensor<2x16x8xf16>) {
    ^bb0(%a: f16):
      redfuse.yield %a : f16
    } -> tensor<2x16x8xf16>
    %z = redfuse.cascade {indexing_maps = [#x, #w, #y, #y]}
        ins(%d, %v, %x : tensor<2x16x8xf16>, tensor<8x1x8xf16>, tensor<2x8x16xf16>) outs(%e : tensor<2x8x16xf16>) {
    ^bb0(%a: f16, %b: f16, %r: f16):
      %m = arith.mulf %a, %b : f16
      %s = redfuse.reduce add %m over [3, 4] into [0, 1, 2] : f16
      %p = arith.addf %s, %r : f16
      redfuse.yield %p : f16
    } -> tensor<2x8x16xf16>
    %i = redfuse.cascade {indexing_maps = [#t, #id]} ins(%z : tensor<2x8x16xf16>) outs(%g : tensor<2x16x8xf16>) {
    ^bb0(%a: f16):
      redfuse.yield %a : f16
    } -> tensor<2x16x8xf16>
    %f = tensor.empty() : tensor<2x8xf16>
    %j = redfuse.cascade {indexing_maps = [#t, affine_map<(n, h, c) -> (n, c)>]} ins(%z : tensor<2x8x16xf16>) outs(%f : tensor<2x8xf16>) {
    ^bb0(%a: f16):
      %s = redfuse.reduce add %a over [1] into [0, 2] : f16
      redfuse.yield %s : f16
    } -> tensor<2x8xf16>
    return %j : tensor<2x8xf16>
  }
}
