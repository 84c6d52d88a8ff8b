// All that the fold gives is written on the way: the sum that its elements need is finished alone.
#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>
#i = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<2x3xf32>, %y: tensor<2xf32>) -> (tensor<3xf32>, tensor<2x3xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #j], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<2x3xf32>) outs(%f : tensor<3xf32>) {
  ^bb0(%a: f32, %s: f32):
    %n = arith.addf %a, %s : f32
    linalg.yield %n : f32
  } -> tensor<3xf32>
  %w = tensor.empty() : tensor<2x3xf32>
  %data = linalg.generic {indexing_maps = [#i, #j, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%y, %sum : tensor<2xf32>, tensor<3xf32>) outs(%w : tensor<2x3xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %n = arith.mulf %a, %s : f32
    linalg.yield %n : f32
  } -> tensor<2x3xf32>
  %e2 = tensor.empty() : tensor<2xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2xf32>) -> tensor<2xf32>
  %r:2 = linalg.generic {indexing_maps = [#ij, #i, #i, #ij], iterator_types = ["parallel", "reduction"]}
      ins(%data, %y : tensor<2x3xf32>, tensor<2xf32>) outs(%f2, %w : tensor<2xf32>, tensor<2x3xf32>) {
  ^bb0(%b: f32, %a: f32, %h: f32, %o: f32):
    %t = math.tanh %a : f32
    %u = arith.mulf %h, %t : f32
    %n = arith.addf %b, %u : f32
    linalg.yield %n, %n : f32, f32
  } -> (tensor<2xf32>, tensor<2x3xf32>)
  return %sum, %r#1 : tensor<3xf32>, tensor<2x3xf32>
}
