// What a choice leaves out is gone, also where it is NaN or infinite: 0*inf is not 0.
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
func.func @main(%x: tensor<3x?xf32>, %y: tensor<3x?xf32>) -> (tensor<3xf32>, tensor<3x?xf32>) {
  %zero = arith.constant 0.0 : f32
  %start = arith.constant 1.5 : f32
  %one = arith.constant 1 : index
  %n = tensor.dim %x, %one : tensor<3x?xf32>
  %e = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%start : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %w = tensor.empty(%n) : tensor<3x?xf32>
  %r:2 = linalg.generic {indexing_maps = [#ij, #ij, #i, #ij], iterator_types = ["parallel", "reduction"]}
      ins(%x, %y : tensor<3x?xf32>, tensor<3x?xf32>) outs(%f, %w : tensor<3xf32>, tensor<3x?xf32>) {
  ^bb0(%a: f32, %b: f32, %h: f32, %o: f32):
    %p = arith.cmpf olt, %b, %zero : f32
    %d = math.tanh %a : f32
    %t = arith.mulf %d, %h : f32
    %u = arith.addf %t, %b : f32
    %k = arith.select %p, %b, %u : f32
    linalg.yield %k, %k : f32, f32
  } -> (tensor<3xf32>, tensor<3x?xf32>)
  return %r#0, %r#1 : tensor<3xf32>, tensor<3x?xf32>
}
