func.func @main(%x: tensor<5x2x?xf32>, %a: tensor<5x2x?x5xf32>) -> (tensor<5x2xf32>, tensor<5x2x5xf32>, tensor<5x2x?xf32>) {
  %zero = arith.constant 0.0 : f32
  %c2 = arith.constant 2 : index
  %n = tensor.dim %x, %c2 : tensor<5x2x?xf32>
  %se = tensor.empty() : tensor<5x2xf32>
  %si = linalg.fill ins(%zero : f32) outs(%se : tensor<5x2xf32>) -> tensor<5x2xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, h, j) -> (i, h, j)>, affine_map<(i, h, j) -> (i, h)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<5x2x?xf32>) outs(%si : tensor<5x2xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %q = arith.mulf %v, %v : f32
    %t = arith.addf %q, %acc : f32
    linalg.yield %t : f32
  } -> tensor<5x2xf32>
  %ye = tensor.empty(%n) : tensor<5x2x?xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, h, j) -> (i, h, j)>, affine_map<(i, h, j) -> (i, h)>, affine_map<(i, h, j) -> (i, h, j)>], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %s : tensor<5x2x?xf32>, tensor<5x2xf32>) outs(%ye : tensor<5x2x?xf32>) {
  ^bb0(%v: f32, %w: f32, %old: f32):
    %t = arith.mulf %v, %w : f32
    linalg.yield %t : f32
  } -> tensor<5x2x?xf32>
  %re = tensor.empty() : tensor<5x2x5xf32>
  %ri = linalg.fill ins(%zero : f32) outs(%re : tensor<5x2x5xf32>) -> tensor<5x2x5xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, h, k, d) -> (i, h, k, d)>, affine_map<(i, h, k, d) -> (i, h)>, affine_map<(i, h, k, d) -> (i, h, d)>], iterator_types = ["parallel", "parallel", "reduction", "parallel"]}
      ins(%a, %s : tensor<5x2x?x5xf32>, tensor<5x2xf32>) outs(%ri : tensor<5x2x5xf32>) {
  ^bb0(%v: f32, %w: f32, %acc: f32):
    %q = arith.mulf %v, %v : f32
    %p = arith.mulf %q, %w : f32
    %t = arith.addf %p, %acc : f32
    linalg.yield %t : f32
  } -> tensor<5x2x5xf32>
  return %s, %r, %y : tensor<5x2xf32>, tensor<5x2x5xf32>, tensor<5x2x?xf32>
}
