#map = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, 0, 0)>
#map3 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map4 = affine_map<(d0, d1, d2) -> (d0)>
module {
  func.func @main(%arg0: tensor<3x?x?xf32>, %arg1: tensor<?x?xf32>) -> (tensor<3x1x1xf32>, tensor<3xf32>, tensor<?x?xf32>) {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %cst = arith.constant 1.500000e+00 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %dim = tensor.dim %arg0, %c1 : tensor<3x?x?xf32>
    %dim_1 = tensor.dim %arg0, %c2 : tensor<3x?x?xf32>
    %0 = tensor.empty(%dim, %dim_1) : tensor<3x?x?xf32>
    %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<3x?x?xf32>) outs(%0 : tensor<3x?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %20 = math.exp %in : f32
      linalg.yield %20 : f32
    } -> tensor<3x?x?xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<3x?x?xf32>) outs(%0 : tensor<3x?x?xf32>) {
    ^bb0(%in: f32, %out: f32):
      %20 = math.tanh %in : f32
      linalg.yield %20 : f32
    } -> tensor<3x?x?xf32>
    %3 = tensor.empty(%dim) : tensor<3x?xf32>
    %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<3x?xf32>) -> tensor<3x?xf32>
    %5:2 = linalg.generic {indexing_maps = [#map, #map, #map1, #map], iterator_types = ["parallel", "parallel", "reduction"]} ins(%2, %1 : tensor<3x?x?xf32>, tensor<3x?x?xf32>) outs(%4, %0 : tensor<3x?xf32>, tensor<3x?x?xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32, %out_3: f32):
      %20 = arith.mulf %out, %in : f32
      %21 = arith.addf %in_2, %20 : f32
      linalg.yield %21, %21 : f32, f32
    } -> (tensor<3x?xf32>, tensor<3x?x?xf32>)
    %6 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%5#1, %arg0 : tensor<3x?x?xf32>, tensor<3x?x?xf32>) outs(%0 : tensor<3x?x?xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %20 = arith.mulf %in, %in_2 : f32
      linalg.yield %20 : f32
    } -> tensor<3x?x?xf32>
    %7 = tensor.empty() : tensor<3x1x1xf32>
    %8 = linalg.fill ins(%cst_0 : f32) outs(%7 : tensor<3x1x1xf32>) -> tensor<3x1x1xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction", "reduction"]} ins(%6 : tensor<3x?x?xf32>) outs(%8 : tensor<3x1x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %20 = arith.addf %in, %out : f32
      linalg.yield %20 : f32
    } -> tensor<3x1x1xf32>
    %10 = linalg.fill ins(%cst_0 : f32) outs(%3 : tensor<3x?xf32>) -> tensor<3x?xf32>
    %11:2 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0 : tensor<3x?x?xf32>) outs(%10, %0 : tensor<3x?xf32>, tensor<3x?x?xf32>) {
    ^bb0(%in: f32, %out: f32, %out_2: f32):
      %20 = arith.addf %out, %in : f32
      linalg.yield %20, %20 : f32, f32
    } -> (tensor<3x?xf32>, tensor<3x?x?xf32>)
    %12 = tensor.empty(%dim, %dim_1) : tensor<?x?xf32>
    %13 = linalg.fill ins(%cst_0 : f32) outs(%12 : tensor<?x?xf32>) -> tensor<?x?xf32>
    %14 = linalg.generic {indexing_maps = [#map, #map, #map3], iterator_types = ["reduction", "parallel", "parallel"]} ins(%11#1, %arg0 : tensor<3x?x?xf32>, tensor<3x?x?xf32>) outs(%13 : tensor<?x?xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %20 = arith.mulf %in, %in_2 : f32
      %21 = arith.addf %20, %out : f32
      linalg.yield %21 : f32
    } -> tensor<?x?xf32>
    %15 = linalg.generic {indexing_maps = [#map, #map3, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %arg1 : tensor<3x?x?xf32>, tensor<?x?xf32>) outs(%0 : tensor<3x?x?xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %20 = arith.subf %in, %in_2 : f32
      linalg.yield %20 : f32
    } -> tensor<3x?x?xf32>
    %16 = linalg.generic {indexing_maps = [#map3, #map2, #map], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1, %9 : tensor<?x?xf32>, tensor<3x1x1xf32>) outs(%0 : tensor<3x?x?xf32>) {
    ^bb0(%in: f32, %in_2: f32, %out: f32):
      %20 = arith.subf %in, %in_2 : f32
      linalg.yield %20 : f32
    } -> tensor<3x?x?xf32>
    %17 = tensor.empty() : tensor<3xf32>
    %18 = linalg.fill ins(%cst_0 : f32) outs(%17 : tensor<3xf32>) -> tensor<3xf32>
    %19 = linalg.generic {indexing_maps = [#map2, #map, #map, #map4], iterator_types = ["parallel", "reduction", "reduction"]} ins(%9, %15, %16 : tensor<3x1x1xf32>, tensor<3x?x?xf32>, tensor<3x?x?xf32>) outs(%18 : tensor<3xf32>) {
    ^bb0(%in: f32, %in_2: f32, %in_3: f32, %out: f32):
      %20 = arith.divf %in, %in_2 : f32
      %21 = arith.mulf %20, %in_3 : f32
      %22 = arith.addf %21, %out : f32
      linalg.yield %22 : f32
    } -> tensor<3xf32>
    return %9, %19, %14 : tensor<3x1x1xf32>, tensor<3xf32>, tensor<?x?xf32>
  }
}
