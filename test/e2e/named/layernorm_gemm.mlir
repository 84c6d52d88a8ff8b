module {
  func.func @main(%arg0: tensor<19x64xf32>, %arg1: tensor<64x23xf32>, %arg2: tensor<23xf32>) -> (tensor<19x23xf32>) {
    %cst_0 = arith.constant 0.0 : f32
    %cst_1 = arith.constant 64.0 : f32
    %cst_2 = arith.constant 1.0E-5 : f64
    %0 = tensor.empty() : tensor<19x1xf32>
    %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<19x1xf32>) -> tensor<19x1xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<19x64xf32>) outs(%1 : tensor<19x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<19x1xf32>
    %3 = tensor.empty() : tensor<19x1xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<19x1xf32>) outs(%3 : tensor<19x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.divf %in0, %cst_1 : f32
      linalg.yield %r : f32
    } -> tensor<19x1xf32>
    %5 = tensor.empty() : tensor<19x64xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0, %4 : tensor<19x64xf32>, tensor<19x1xf32>) outs(%5 : tensor<19x64xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<19x64xf32>
    %7 = tensor.empty() : tensor<19x64xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%6, %6 : tensor<19x64xf32>, tensor<19x64xf32>) outs(%7 : tensor<19x64xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<19x64xf32>
    %9 = tensor.empty() : tensor<19x1xf32>
    %10 = linalg.fill ins(%cst_0 : f32) outs(%9 : tensor<19x1xf32>) -> tensor<19x1xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%8 : tensor<19x64xf32>) outs(%10 : tensor<19x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<19x1xf32>
    %12 = tensor.empty() : tensor<19x1xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%11 : tensor<19x1xf32>) outs(%12 : tensor<19x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.divf %in0, %cst_1 : f32
      linalg.yield %r : f32
    } -> tensor<19x1xf32>
    %14 = tensor.empty() : tensor<19x1xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%13 : tensor<19x1xf32>) outs(%14 : tensor<19x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %s = arith.truncf %cst_2 : f64 to f32
      %r = arith.addf %in0, %s : f32
      linalg.yield %r : f32
    } -> tensor<19x1xf32>
    %16 = tensor.empty() : tensor<19x1xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%15 : tensor<19x1xf32>) outs(%16 : tensor<19x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.rsqrt %in0 : f32
      linalg.yield %r : f32
    } -> tensor<19x1xf32>
    %18 = tensor.empty() : tensor<19x64xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%6, %17 : tensor<19x64xf32>, tensor<19x1xf32>) outs(%18 : tensor<19x64xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<19x64xf32>
    %20 = tensor.empty() : tensor<19x23xf32>
    %21 = linalg.fill ins(%cst_0 : f32) outs(%20 : tensor<19x23xf32>) -> tensor<19x23xf32>
    %22 = linalg.matmul ins(%19, %arg1 : tensor<19x64xf32>, tensor<64x23xf32>) outs(%21 : tensor<19x23xf32>) -> tensor<19x23xf32>
    %23 = tensor.empty() : tensor<19x23xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%22, %arg2 : tensor<19x23xf32>, tensor<23xf32>) outs(%23 : tensor<19x23xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.addf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<19x23xf32>
    return %24 : tensor<19x23xf32>
  }
}
