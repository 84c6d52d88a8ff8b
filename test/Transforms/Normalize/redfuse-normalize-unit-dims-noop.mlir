// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-normalize-unit-dims | diff %t.before -

#id = affine_map<(d0, d1) -> (d0, d1)>

// Dims that are longer or may be; and those of a pad, whose region counts them.
func.func @others(%x: tensor<2x?xf32>, %empty: tensor<2x?xf32>, %y: tensor<1x4xf32>) -> (tensor<2x?xf32>, tensor<1x6xf32>) {
  %c = arith.constant 0.0 : f32
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x?xf32>) outs(%empty : tensor<2x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<2x?xf32>
  %p = tensor.pad %y low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<1x4xf32> to tensor<1x6xf32>
  return %r, %p : tensor<2x?xf32>, tensor<1x6xf32>
}
