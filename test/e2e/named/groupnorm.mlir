module {
  func.func @main(%arg0: tensor<2x6x5x7xf32>, %arg1: tensor<6xf32>, %arg2: tensor<6xf32>) -> (tensor<2x6x5x7xf32>) {
    %cst_0 = arith.constant 0.0 : f32
    %cst_1 = arith.constant 70.0 : f32
    %cst_2 = arith.constant 1.0E-5 : f64
    %0 = tensor.expand_shape %arg0 [[0], [1, 2], [3], [4]] output_shape [2, 3, 2, 5, 7] : tensor<2x6x5x7xf32> into tensor<2x3x2x5x7xf32>
    %1 = tensor.empty() : tensor<2x3x1x1x1xf32>
    %2 = linalg.fill ins(%cst_0 : f32) outs(%1 : tensor<2x3x1x1x1xf32>) -> tensor<2x3x1x1x1xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, 0, 0)>], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%0 : tensor<2x3x2x5x7xf32>) outs(%2 : tensor<2x3x1x1x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<2x3x1x1x1xf32>
    %4 = tensor.empty() : tensor<2x3x1x1x1xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%3 : tensor<2x3x1x1x1xf32>) outs(%4 : tensor<2x3x1x1x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.divf %in0, %cst_1 : f32
      linalg.yield %r : f32
    } -> tensor<2x3x1x1x1xf32>
    %6 = tensor.empty() : tensor<2x3x2x5x7xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, 0, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%0, %5 : tensor<2x3x2x5x7xf32>, tensor<2x3x1x1x1xf32>) outs(%6 : tensor<2x3x2x5x7xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<2x3x2x5x7xf32>
    %8 = tensor.empty() : tensor<2x3x2x5x7xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%7, %7 : tensor<2x3x2x5x7xf32>, tensor<2x3x2x5x7xf32>) outs(%8 : tensor<2x3x2x5x7xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<2x3x2x5x7xf32>
    %10 = tensor.empty() : tensor<2x3x1x1x1xf32>
    %11 = linalg.fill ins(%cst_0 : f32) outs(%10 : tensor<2x3x1x1x1xf32>) -> tensor<2x3x1x1x1xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, 0, 0)>], iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%9 : tensor<2x3x2x5x7xf32>) outs(%11 : tensor<2x3x1x1x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<2x3x1x1x1xf32>
    %13 = tensor.empty() : tensor<2x3x1x1x1xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%12 : tensor<2x3x1x1x1xf32>) outs(%13 : tensor<2x3x1x1x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.divf %in0, %cst_1 : f32
      linalg.yield %r : f32
    } -> tensor<2x3x1x1x1xf32>
    %15 = tensor.empty() : tensor<2x3x1x1x1xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<2x3x1x1x1xf32>) outs(%15 : tensor<2x3x1x1x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %s = arith.truncf %cst_2 : f64 to f32
      %r = arith.addf %in0, %s : f32
      linalg.yield %r : f32
    } -> tensor<2x3x1x1x1xf32>
    %17 = tensor.empty() : tensor<2x3x1x1x1xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<2x3x1x1x1xf32>) outs(%17 : tensor<2x3x1x1x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.rsqrt %in0 : f32
      linalg.yield %r : f32
    } -> tensor<2x3x1x1x1xf32>
    %19 = tensor.empty() : tensor<2x3x2x5x7xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, 0, 0, 0)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%7, %18 : tensor<2x3x2x5x7xf32>, tensor<2x3x1x1x1xf32>) outs(%19 : tensor<2x3x2x5x7xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<2x3x2x5x7xf32>
    %21 = tensor.collapse_shape %20 [[0], [1, 2], [3], [4]] : tensor<2x3x2x5x7xf32> into tensor<2x6x5x7xf32>
    %22 = tensor.expand_shape %arg1 [[0, 1, 2]] output_shape [6, 1, 1] : tensor<6xf32> into tensor<6x1x1xf32>
    %23 = tensor.empty() : tensor<2x6x5x7xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, 0, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%21, %22 : tensor<2x6x5x7xf32>, tensor<6x1x1xf32>) outs(%23 : tensor<2x6x5x7xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<2x6x5x7xf32>
    %25 = tensor.expand_shape %arg2 [[0, 1, 2]] output_shape [6, 1, 1] : tensor<6xf32> into tensor<6x1x1xf32>
    %26 = tensor.empty() : tensor<2x6x5x7xf32>
    %27 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, 0, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24, %25 : tensor<2x6x5x7xf32>, tensor<6x1x1xf32>) outs(%26 : tensor<2x6x5x7xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.addf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<2x6x5x7xf32>
    return %27 : tensor<2x6x5x7xf32>
  }
}
