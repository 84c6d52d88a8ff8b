// (silu(x @ w1) * (x @ w2)) @ w3, as torch-mlir exports it: a chain of matrix multiplications, 512 tokens of
// width 1024 through a hidden layer of 2752.

#map = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @main(%arg0: tensor<512x1024xf32>, %arg1: tensor<1024x2752xf32>, %arg2: tensor<1024x2752xf32>, %arg3: tensor<2752x1024xf32>) -> tensor<512x1024xf32> {
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 1.000000e+00 : f32
    %0 = tensor.empty() : tensor<512x2752xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<512x2752xf32>) -> tensor<512x2752xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<512x1024xf32>, tensor<1024x2752xf32>) outs(%1 : tensor<512x2752xf32>) -> tensor<512x2752xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<512x2752xf32>) outs(%0 : tensor<512x2752xf32>) {
    ^bb0(%in: f32, %out: f32):
      %10 = arith.negf %in : f32
      %11 = math.exp %10 : f32
      %12 = arith.addf %11, %cst_0 : f32
      %13 = arith.divf %cst_0, %12 : f32
      linalg.yield %13 : f32
    } -> tensor<512x2752xf32>
    %4 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%2, %3 : tensor<512x2752xf32>, tensor<512x2752xf32>) outs(%0 : tensor<512x2752xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %10 = arith.mulf %in, %in_1 : f32
      linalg.yield %10 : f32
    } -> tensor<512x2752xf32>
    %5 = linalg.matmul ins(%arg0, %arg2 : tensor<512x1024xf32>, tensor<1024x2752xf32>) outs(%1 : tensor<512x2752xf32>) -> tensor<512x2752xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%4, %5 : tensor<512x2752xf32>, tensor<512x2752xf32>) outs(%0 : tensor<512x2752xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %10 = arith.mulf %in, %in_1 : f32
      linalg.yield %10 : f32
    } -> tensor<512x2752xf32>
    %7 = tensor.empty() : tensor<512x1024xf32>
    %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<512x1024xf32>) -> tensor<512x1024xf32>
    %9 = linalg.matmul ins(%6, %arg3 : tensor<512x2752xf32>, tensor<2752x1024xf32>) outs(%8 : tensor<512x1024xf32>) -> tensor<512x1024xf32>
    return %9 : tensor<512x1024xf32>
  }
}
