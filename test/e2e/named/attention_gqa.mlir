module {
  func.func @main(%arg0: tensor<1x6x37x16xf32>, %arg1: tensor<1x2x67x16xf32>, %arg2: tensor<1x2x67x16xf32>) -> (tensor<1x6x37x16xf32>) {
    %cst_0 = arith.constant 0.0 : f32
    %cst_1 = arith.constant 4.0 : f64
    %cst_2 = arith.constant 0 : i64
    %cst_3 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<1x2x3x67x16xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg1 : tensor<1x2x67x16xf32>) outs(%0 : tensor<1x2x3x67x16xf32>) {
    ^bb0(%in0: f32, %out: f32):
      linalg.yield %in0 : f32
    } -> tensor<1x2x3x67x16xf32>
    %2 = tensor.collapse_shape %1 [[0], [1, 2], [3], [4]] : tensor<1x2x3x67x16xf32> into tensor<1x6x67x16xf32>
    %3 = tensor.empty() : tensor<1x2x3x67x16xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%arg2 : tensor<1x2x67x16xf32>) outs(%3 : tensor<1x2x3x67x16xf32>) {
    ^bb0(%in0: f32, %out: f32):
      linalg.yield %in0 : f32
    } -> tensor<1x2x3x67x16xf32>
    %5 = tensor.collapse_shape %4 [[0], [1, 2], [3], [4]] : tensor<1x2x3x67x16xf32> into tensor<1x6x67x16xf32>
    %6 = tensor.empty() : tensor<1x6x16x67xf32>
    %7 = linalg.transpose ins(%2 : tensor<1x6x67x16xf32>) outs(%6 : tensor<1x6x16x67xf32>) permutation = [0, 1, 3, 2]
    %8 = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<1x6x37x16xf32> into tensor<6x37x16xf32>
    %9 = tensor.collapse_shape %7 [[0, 1], [2], [3]] : tensor<1x6x16x67xf32> into tensor<6x16x67xf32>
    %10 = tensor.empty() : tensor<6x37x67xf32>
    %11 = linalg.fill ins(%cst_0 : f32) outs(%10 : tensor<6x37x67xf32>) -> tensor<6x37x67xf32>
    %12 = linalg.batch_matmul ins(%8, %9 : tensor<6x37x16xf32>, tensor<6x16x67xf32>) outs(%11 : tensor<6x37x67xf32>) -> tensor<6x37x67xf32>
    %13 = tensor.expand_shape %12 [[0, 1], [2], [3]] output_shape [1, 6, 37, 67] : tensor<6x37x67xf32> into tensor<1x6x37x67xf32>
    %14 = tensor.empty() : tensor<1x6x37x67xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<1x6x37x67xf32>) outs(%14 : tensor<1x6x37x67xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %s = arith.truncf %cst_1 : f64 to f32
      %r = arith.divf %in0, %s : f32
      linalg.yield %r : f32
    } -> tensor<1x6x37x67xf32>
    %16 = tensor.empty() : tensor<1x6x37xi64>
    %17 = linalg.fill ins(%cst_2 : i64) outs(%16 : tensor<1x6x37xi64>) -> tensor<1x6x37xi64>
    %18 = tensor.empty() : tensor<1x6x37xf32>
    %19 = linalg.fill ins(%cst_3 : f32) outs(%18 : tensor<1x6x37xf32>) -> tensor<1x6x37xf32>
    %20:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%15 : tensor<1x6x37x67xf32>) outs(%19, %17 : tensor<1x6x37xf32>, tensor<1x6x37xi64>) {
    ^bb0(%in: f32, %out: f32, %out_i: i64):
      %i = linalg.index 3 : index
      %j = arith.index_cast %i : index to i64
      %m = arith.maximumf %in, %out : f32
      %c = arith.cmpf ogt, %in, %out : f32
      %k = arith.select %c, %j, %out_i : i64
      linalg.yield %m, %k : f32, i64
    } -> (tensor<1x6x37xf32>, tensor<1x6x37xi64>)
    %21 = tensor.expand_shape %20#0 [[0], [1], [2, 3]] output_shape [1, 6, 37, 1] : tensor<1x6x37xf32> into tensor<1x6x37x1xf32>
    %22 = tensor.empty() : tensor<1x6x37x67xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15, %21 : tensor<1x6x37x67xf32>, tensor<1x6x37x1xf32>) outs(%22 : tensor<1x6x37x67xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<1x6x37x67xf32>
    %24 = tensor.empty() : tensor<1x6x37x67xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23 : tensor<1x6x37x67xf32>) outs(%24 : tensor<1x6x37x67xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.exp %in0 : f32
      linalg.yield %r : f32
    } -> tensor<1x6x37x67xf32>
    %26 = tensor.empty() : tensor<1x6x37x1xf32>
    %27 = linalg.fill ins(%cst_0 : f32) outs(%26 : tensor<1x6x37x1xf32>) -> tensor<1x6x37x1xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%25 : tensor<1x6x37x67xf32>) outs(%27 : tensor<1x6x37x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<1x6x37x1xf32>
    %29 = tensor.empty() : tensor<1x6x37x67xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%25, %28 : tensor<1x6x37x67xf32>, tensor<1x6x37x1xf32>) outs(%29 : tensor<1x6x37x67xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.divf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<1x6x37x67xf32>
    %31 = tensor.collapse_shape %30 [[0, 1], [2], [3]] : tensor<1x6x37x67xf32> into tensor<6x37x67xf32>
    %32 = tensor.collapse_shape %5 [[0, 1], [2], [3]] : tensor<1x6x67x16xf32> into tensor<6x67x16xf32>
    %33 = tensor.empty() : tensor<6x37x16xf32>
    %34 = linalg.fill ins(%cst_0 : f32) outs(%33 : tensor<6x37x16xf32>) -> tensor<6x37x16xf32>
    %35 = linalg.batch_matmul ins(%31, %32 : tensor<6x37x67xf32>, tensor<6x67x16xf32>) outs(%34 : tensor<6x37x16xf32>) -> tensor<6x37x16xf32>
    %36 = tensor.expand_shape %35 [[0, 1], [2], [3]] output_shape [1, 6, 37, 16] : tensor<6x37x16xf32> into tensor<1x6x37x16xf32>
    return %36 : tensor<1x6x37x16xf32>
  }
}
