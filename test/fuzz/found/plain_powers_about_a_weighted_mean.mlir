// The pivot is near the weighted mean, of every row its own; the powers count each element once.
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
#j = affine_map<(i, j) -> (j)>
func.func @main(%w: tensor<3x?xf32>, %x: tensor<?xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %total = linalg.generic {indexing_maps = [#ij, #i], iterator_types = ["parallel", "reduction"]}
      ins(%w : tensor<3x?xf32>) outs(%f : tensor<3xf32>) {
  ^bb0(%a: f32, %s: f32):
    %p = math.exp %a : f32
    %n = arith.addf %p, %s : f32
    linalg.yield %n : f32
  } -> tensor<3xf32>
  %sum = linalg.generic {indexing_maps = [#ij, #j, #i], iterator_types = ["parallel", "reduction"]}
      ins(%w, %x : tensor<3x?xf32>, tensor<?xf32>) outs(%f : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = math.exp %a : f32
    %q = arith.mulf %p, %b : f32
    %n = arith.addf %q, %s : f32
    linalg.yield %n : f32
  } -> tensor<3xf32>
  %mean = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
        affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%sum, %total : tensor<3xf32>, tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %n = arith.divf %a, %b : f32
    linalg.yield %n : f32
  } -> tensor<3xf32>
  %squares = linalg.generic {indexing_maps = [#j, #i, #i], iterator_types = ["parallel", "reduction"]}
      ins(%x, %mean : tensor<?xf32>, tensor<3xf32>) outs(%f : tensor<3xf32>) {
  ^bb0(%a: f32, %m: f32, %s: f32):
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %d : f32
    %n = arith.addf %p, %s : f32
    linalg.yield %n : f32
  } -> tensor<3xf32>
  return %mean, %squares : tensor<3xf32>, tensor<3xf32>
}
