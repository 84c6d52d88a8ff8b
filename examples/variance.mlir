// ((x - x.mean(-1, keepdim=True)) ** 2).mean(-1), as torch-mlir exports it: the second sum needs the
// result of the first.

#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0, 0)>
#map2 = affine_map<(d0, d1) -> (d0)>
#map3 = affine_map<(d0) -> (d0)>
module {
  func.func @main(%arg0: tensor<4096x4096xf32>) -> tensor<4096xf32> {
    %c2_i64 = arith.constant 2 : i64
    %cst = arith.constant 0.000000e+00 : f32
    %cst_0 = arith.constant 4.096000e+03 : f32
    %0 = tensor.empty() : tensor<4096x1xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<4096x1xf32>) -> tensor<4096x1xf32>
    %2 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<4096x4096xf32>) outs(%1 : tensor<4096x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %11 = arith.addf %in, %out : f32
      linalg.yield %11 : f32
    } -> tensor<4096x1xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<4096x1xf32>) outs(%0 : tensor<4096x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %11 = arith.divf %in, %cst_0 : f32
      linalg.yield %11 : f32
    } -> tensor<4096x1xf32>
    %4 = tensor.empty() : tensor<4096x4096xf32>
    %5 = linalg.generic {indexing_maps = [#map, #map1, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %3 : tensor<4096x4096xf32>, tensor<4096x1xf32>) outs(%4 : tensor<4096x4096xf32>) {
    ^bb0(%in: f32, %in_1: f32, %out: f32):
      %11 = arith.subf %in, %in_1 : f32
      linalg.yield %11 : f32
    } -> tensor<4096x4096xf32>
    %6 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%5 : tensor<4096x4096xf32>) outs(%4 : tensor<4096x4096xf32>) {
    ^bb0(%in: f32, %out: f32):
      %11 = math.fpowi %in, %c2_i64 : f32, i64
      linalg.yield %11 : f32
    } -> tensor<4096x4096xf32>
    %7 = tensor.empty() : tensor<4096xf32>
    %8 = linalg.fill ins(%cst : f32) outs(%7 : tensor<4096xf32>) -> tensor<4096xf32>
    %9 = linalg.generic {indexing_maps = [#map, #map2], iterator_types = ["parallel", "reduction"]} ins(%6 : tensor<4096x4096xf32>) outs(%8 : tensor<4096xf32>) {
    ^bb0(%in: f32, %out: f32):
      %11 = arith.addf %in, %out : f32
      linalg.yield %11 : f32
    } -> tensor<4096xf32>
    %10 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel"]} ins(%9 : tensor<4096xf32>) outs(%7 : tensor<4096xf32>) {
    ^bb0(%in: f32, %out: f32):
      %11 = arith.divf %in, %cst_0 : f32
      linalg.yield %11 : f32
    } -> tensor<4096xf32>
    return %10 : tensor<4096xf32>
  }
}
