module {
  func.func @main(%arg0: tensor<7x257xf32>, %arg1: tensor<7x257x3xf32>) -> (tensor<7xf32>) {
    %cst_0 = arith.constant 0.0 : f32
    %cst_1 = arith.constant 2 : i64
    %0 = tensor.expand_shape %arg0 [[0], [1, 2]] output_shape [7, 257, 1] : tensor<7x257xf32> into tensor<7x257x1xf32>
    %1 = tensor.empty() : tensor<7x257x3xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%0, %arg1 : tensor<7x257x1xf32>, tensor<7x257x3xf32>) outs(%1 : tensor<7x257x3xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257x3xf32>
    %3 = tensor.empty() : tensor<7x3xf32>
    %4 = linalg.fill ins(%cst_0 : f32) outs(%3 : tensor<7x3xf32>) -> tensor<7x3xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%2 : tensor<7x257x3xf32>) outs(%4 : tensor<7x3xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7x3xf32>
    %6 = tensor.empty() : tensor<7x1xf32>
    %7 = linalg.fill ins(%cst_0 : f32) outs(%6 : tensor<7x1xf32>) -> tensor<7x1xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<7x257xf32>) outs(%7 : tensor<7x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %9 = tensor.empty() : tensor<7x3xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%5, %8 : tensor<7x3xf32>, tensor<7x1xf32>) outs(%9 : tensor<7x3xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.divf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x3xf32>
    %11 = tensor.expand_shape %10 [[0, 1], [2]] output_shape [7, 1, 3] : tensor<7x3xf32> into tensor<7x1x3xf32>
    %12 = tensor.empty() : tensor<7x257x3xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, 0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1, %11 : tensor<7x257x3xf32>, tensor<7x1x3xf32>) outs(%12 : tensor<7x257x3xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257x3xf32>
    %14 = tensor.empty() : tensor<7x257x3xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%13 : tensor<7x257x3xf32>) outs(%14 : tensor<7x257x3xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.fpowi %in0, %cst_1 : f32, i64
      linalg.yield %r : f32
    } -> tensor<7x257x3xf32>
    %16 = tensor.empty() : tensor<7x257xf32>
    %17 = linalg.fill ins(%cst_0 : f32) outs(%16 : tensor<7x257xf32>) -> tensor<7x257xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%15 : tensor<7x257x3xf32>) outs(%17 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %19 = tensor.empty() : tensor<7x257xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0, %18 : tensor<7x257xf32>, tensor<7x257xf32>) outs(%19 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %21 = tensor.empty() : tensor<7xf32>
    %22 = linalg.fill ins(%cst_0 : f32) outs(%21 : tensor<7xf32>) -> tensor<7xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%20 : tensor<7x257xf32>) outs(%22 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    return %23 : tensor<7xf32>
  }
}
