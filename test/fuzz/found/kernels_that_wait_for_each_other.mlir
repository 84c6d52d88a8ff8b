#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map2 = affine_map<(d0) -> (d0)>
#map3 = affine_map<(d0) -> ()>
#map4 = affine_map<(d0, d1) -> ()>
#map5 = affine_map<(d0, d1) -> (d0, d1)>
#map6 = affine_map<(d0, d1, d2) -> ()>
module {
  func.func @main(%arg0: tensor<?x?x3xf32>, %arg1: tensor<?xf32>) -> (tensor<?x3xf32>, tensor<?x?x3xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %dim = tensor.dim %arg0, %c0 : tensor<?x?x3xf32>
    %dim_1 = tensor.dim %arg0, %c1 : tensor<?x?x3xf32>
    %0 = tensor.empty(%dim) : tensor<?x3xf32>
    %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<?x3xf32>) -> tensor<?x3xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction", "parallel"]} ins(%arg0 : tensor<?x?x3xf32>) outs(%1 : tensor<?x3xf32>) {
    ^bb0(%in: f32, %out: f32):
      %9 = math.tanh %in : f32
      %10 = arith.addf %9, %cst_0 : f32
      %11 = arith.mulf %10, %out : f32
      linalg.yield %11 : f32
    } -> tensor<?x3xf32>
    %3 = tensor.empty() : tensor<f32>
    %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<f32>) -> tensor<f32>
    %5 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["reduction"]} ins(%arg1 : tensor<?xf32>) outs(%4 : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %9 = arith.addf %in, %out : f32
      linalg.yield %9 : f32
    } -> tensor<f32>
    %6 = linalg.generic {indexing_maps = [#map4, #map5, #map5], iterator_types = ["parallel", "parallel"]} ins(%5, %2 : tensor<f32>, tensor<?x3xf32>) outs(%0 : tensor<?x3xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %9 = arith.divf %in, %in_2 : f32
      linalg.yield %9 : f32
    } -> tensor<?x3xf32>
    %7 = tensor.empty(%dim, %dim_1) : tensor<?x?x3xf32>
    %8 = linalg.generic {indexing_maps = [#map, #map6, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %5 : tensor<?x?x3xf32>, tensor<f32>) outs(%7 : tensor<?x?x3xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %9 = arith.subf %in, %in_2 : f32
      linalg.yield %9 : f32
    } -> tensor<?x?x3xf32>
    return %6, %8 : tensor<?x3xf32>, tensor<?x?x3xf32>
  }
}
