// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-fuse | FileCheck %s

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// A product is stored, and its rows are normalised by another kernel: that one squares them
// itself, rather than to read the squares from memory.
// CHECK-LABEL: func.func @norm_of_product
// CHECK: %[[H:.*]] = redfuse.cascade {{.*}} ins(%{{.*}}, %{{.*}} : tensor<2048x4096xbf16>, tensor<4096x4096xbf16>)
// CHECK: redfuse.cascade {{.*}} ins(%[[H]] : tensor<2048x4096xbf16>)
// CHECK-NEXT: ^bb0(%[[V:.*]]: bf16):
// CHECK: %[[W:.*]] = arith.extf %[[V]] : bf16 to f32
// CHECK: %[[S:.*]] = arith.mulf %[[W]], %[[W]] : f32
// CHECK: redfuse.reduce add %[[S]] over [1] into [0]
func.func @norm_of_product(%a: tensor<2048x4096xbf16>, %b: tensor<4096x4096xbf16>) -> (tensor<2048x4096xbf16>, tensor<2048x4096xbf16>) {
  %f = tensor.empty() : tensor<2048x4096xf32>
  %h = tensor.empty() : tensor<2048x4096xbf16>
  %v = tensor.empty() : tensor<2048xf32>
  %0 = redfuse.cascade {indexing_maps = [#a, #b, #c]} ins(%a, %b : tensor<2048x4096xbf16>, tensor<4096x4096xbf16>) outs(%h : tensor<2048x4096xbf16>) {
  ^bb0(%u: bf16, %w: bf16):
    %p = arith.extf %u : bf16 to f32
    %q = arith.extf %w : bf16 to f32
    %m = arith.mulf %p, %q : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    %t = arith.truncf %s : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<2048x4096xbf16>
  %1 = redfuse.cascade {indexing_maps = [#x, #x]} ins(%0 : tensor<2048x4096xbf16>) outs(%f : tensor<2048x4096xf32>) {
  ^bb0(%u: bf16):
    %p = arith.extf %u : bf16 to f32
    redfuse.yield %p : f32
  } -> tensor<2048x4096xf32>
  %2 = redfuse.cascade {indexing_maps = [#x, #x]} ins(%1 : tensor<2048x4096xf32>) outs(%f : tensor<2048x4096xf32>) {
  ^bb0(%u: f32):
    %p = arith.mulf %u, %u : f32
    redfuse.yield %p : f32
  } -> tensor<2048x4096xf32>
  %3 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%2 : tensor<2048x4096xf32>) outs(%v : tensor<2048xf32>) {
  ^bb0(%u: f32):
    %s = redfuse.reduce add %u over [1] into [0] : f32
    %t = math.rsqrt %s : f32
    redfuse.yield %t : f32
  } -> tensor<2048xf32>
  %4 = redfuse.cascade {indexing_maps = [#x, #r, #x]} ins(%1, %3 : tensor<2048x4096xf32>, tensor<2048xf32>) outs(%h : tensor<2048x4096xbf16>) {
  ^bb0(%u: f32, %w: f32):
    %p = arith.mulf %u, %w : f32
    %t = arith.truncf %p : f32 to bf16
    redfuse.yield %t : bf16
  } -> tensor<2048x4096xbf16>
  return %0, %4 : tensor<2048x4096xbf16>, tensor<2048x4096xbf16>
}
