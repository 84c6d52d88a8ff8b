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
