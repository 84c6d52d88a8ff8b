module {
  func.func @main(%arg0: tensor<19x64xf32>, %arg1: tensor<64x23xf32>) -> (tensor<19x23xf32>) {
    %cst_0 = arith.constant 0.0 : f32
    %cst_1 = arith.constant 64.0 : f32
    %cst_2 = arith.constant 1.0E-6 : f64
    %0 = tensor.empty() : tensor<19x64xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg0 : tensor<19x64xf32>, tensor<19x64xf32>) outs(%0 : tensor<19x64xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<19x64xf32>
    %2 = tensor.empty() : tensor<19x1xf32>
    %3 = linalg.fill ins(%cst_0 : f32) outs(%2 : tensor<19x1xf32>) -> tensor<19x1xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<19x64xf32>) outs(%3 : tensor<19x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<19x1xf32>
    %5 = tensor.empty() : tensor<19x1xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<19x1xf32>) outs(%5 : tensor<19x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.divf %in0, %cst_1 : f32
      linalg.yield %r : f32
    } -> tensor<19x1xf32>
    %7 = tensor.empty() : tensor<19x1xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<19x1xf32>) outs(%7 : tensor<19x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %s = arith.truncf %cst_2 : f64 to f32
      %r = arith.addf %in0, %s : f32
      linalg.yield %r : f32
    } -> tensor<19x1xf32>
    %9 = tensor.empty() : tensor<19x1xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8 : tensor<19x1xf32>) outs(%9 : tensor<19x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.rsqrt %in0 : f32
      linalg.yield %r : f32
    } -> tensor<19x1xf32>
    %11 = tensor.empty() : tensor<19x64xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0, %10 : tensor<19x64xf32>, tensor<19x1xf32>) outs(%11 : tensor<19x64xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<19x64xf32>
    %13 = tensor.empty() : tensor<19x23xf32>
    %14 = linalg.fill ins(%cst_0 : f32) outs(%13 : tensor<19x23xf32>) -> tensor<19x23xf32>
    %15 = linalg.matmul ins(%12, %arg1 : tensor<19x64xf32>, tensor<64x23xf32>) outs(%14 : tensor<19x23xf32>) -> tensor<19x23xf32>
    return %15 : tensor<19x23xf32>
  }
}
