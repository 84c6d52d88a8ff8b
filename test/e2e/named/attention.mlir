module {
  func.func @main(%arg0: tensor<1x2x37x16xf32>, %arg1: tensor<1x2x67x16xf32>, %arg2: tensor<1x2x67x16xf32>) -> (tensor<1x2x37x16xf32>) {
    %cst_0 = arith.constant 0.0 : f32
    %cst_1 = arith.constant 4.0 : f64
    %cst_2 = arith.constant 0 : i64
    %cst_3 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<1x2x16x67xf32>
    %1 = linalg.transpose ins(%arg1 : tensor<1x2x67x16xf32>) outs(%0 : tensor<1x2x16x67xf32>) permutation = [0, 1, 3, 2]
    %2 = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<1x2x37x16xf32> into tensor<2x37x16xf32>
    %3 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<1x2x16x67xf32> into tensor<2x16x67xf32>
    %4 = tensor.empty() : tensor<2x37x67xf32>
    %5 = linalg.fill ins(%cst_0 : f32) outs(%4 : tensor<2x37x67xf32>) -> tensor<2x37x67xf32>
    %6 = linalg.batch_matmul ins(%2, %3 : tensor<2x37x16xf32>, tensor<2x16x67xf32>) outs(%5 : tensor<2x37x67xf32>) -> tensor<2x37x67xf32>
    %7 = tensor.expand_shape %6 [[0, 1], [2], [3]] output_shape [1, 2, 37, 67] : tensor<2x37x67xf32> into tensor<1x2x37x67xf32>
    %8 = tensor.empty() : tensor<1x2x37x67xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7 : tensor<1x2x37x67xf32>) outs(%8 : tensor<1x2x37x67xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %s = arith.truncf %cst_1 : f64 to f32
      %r = arith.divf %in0, %s : f32
      linalg.yield %r : f32
    } -> tensor<1x2x37x67xf32>
    %10 = tensor.empty() : tensor<1x2x37xi64>
    %11 = linalg.fill ins(%cst_2 : i64) outs(%10 : tensor<1x2x37xi64>) -> tensor<1x2x37xi64>
    %12 = tensor.empty() : tensor<1x2x37xf32>
    %13 = linalg.fill ins(%cst_3 : f32) outs(%12 : tensor<1x2x37xf32>) -> tensor<1x2x37xf32>
    %14:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%9 : tensor<1x2x37x67xf32>) outs(%13, %11 : tensor<1x2x37xf32>, tensor<1x2x37xi64>) {
    ^bb0(%in: f32, %out: f32, %out_i: i64):
      %i = linalg.index 3 : index
      %j = arith.index_cast %i : index to i64
      %m = arith.maximumf %in, %out : f32
      %c = arith.cmpf ogt, %in, %out : f32
      %k = arith.select %c, %j, %out_i : i64
      linalg.yield %m, %k : f32, i64
    } -> (tensor<1x2x37xf32>, tensor<1x2x37xi64>)
    %15 = tensor.expand_shape %14#0 [[0], [1], [2, 3]] output_shape [1, 2, 37, 1] : tensor<1x2x37xf32> into tensor<1x2x37x1xf32>
    %16 = tensor.empty() : tensor<1x2x37x67xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9, %15 : tensor<1x2x37x67xf32>, tensor<1x2x37x1xf32>) outs(%16 : tensor<1x2x37x67xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<1x2x37x67xf32>
    %18 = tensor.empty() : tensor<1x2x37x67xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<1x2x37x67xf32>) outs(%18 : tensor<1x2x37x67xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.exp %in0 : f32
      linalg.yield %r : f32
    } -> tensor<1x2x37x67xf32>
    %20 = tensor.empty() : tensor<1x2x37x1xf32>
    %21 = linalg.fill ins(%cst_0 : f32) outs(%20 : tensor<1x2x37x1xf32>) -> tensor<1x2x37x1xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%19 : tensor<1x2x37x67xf32>) outs(%21 : tensor<1x2x37x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<1x2x37x1xf32>
    %23 = tensor.empty() : tensor<1x2x37x67xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%19, %22 : tensor<1x2x37x67xf32>, tensor<1x2x37x1xf32>) outs(%23 : tensor<1x2x37x67xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.divf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<1x2x37x67xf32>
    %25 = tensor.collapse_shape %24 [[0, 1], [2], [3]] : tensor<1x2x37x67xf32> into tensor<2x37x67xf32>
    %26 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<1x2x67x16xf32> into tensor<2x67x16xf32>
    %27 = tensor.empty() : tensor<2x37x16xf32>
    %28 = linalg.fill ins(%cst_0 : f32) outs(%27 : tensor<2x37x16xf32>) -> tensor<2x37x16xf32>
    %29 = linalg.batch_matmul ins(%25, %26 : tensor<2x37x67xf32>, tensor<2x67x16xf32>) outs(%28 : tensor<2x37x16xf32>) -> tensor<2x37x16xf32>
    %30 = tensor.expand_shape %29 [[0, 1], [2], [3]] output_shape [1, 2, 37, 16] : tensor<2x37x16xf32> into tensor<1x2x37x16xf32>
    return %30 : tensor<1x2x37x16xf32>
  }
}
