module {
  func.func @main(%arg0: tensor<2x5x32xf32>, %arg1: tensor<2x67x32xf32>) -> (tensor<2x5x24xf32>) {
    %cst_0 = arith.constant 0.0 : f32
    %cst_1 = arith.constant 13.856406460551018 : f32
    %cst_2 = arith.constant 0 : i64
    %cst_3 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<2x32x67xf32>
    %1 = linalg.transpose ins(%arg1 : tensor<2x67x32xf32>) outs(%0 : tensor<2x32x67xf32>) permutation = [0, 2, 1]
    %2 = tensor.empty() : tensor<2x5x67xf32>
    %3 = linalg.fill ins(%cst_0 : f32) outs(%2 : tensor<2x5x67xf32>) -> tensor<2x5x67xf32>
    %4 = linalg.batch_matmul ins(%arg0, %1 : tensor<2x5x32xf32>, tensor<2x32x67xf32>) outs(%3 : tensor<2x5x67xf32>) -> tensor<2x5x67xf32>
    %5 = tensor.empty() : tensor<2x5x67xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4 : tensor<2x5x67xf32>) outs(%5 : tensor<2x5x67xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.divf %in0, %cst_1 : f32
      linalg.yield %r : f32
    } -> tensor<2x5x67xf32>
    %7 = tensor.empty() : tensor<2x5xi64>
    %8 = linalg.fill ins(%cst_2 : i64) outs(%7 : tensor<2x5xi64>) -> tensor<2x5xi64>
    %9 = tensor.empty() : tensor<2x5xf32>
    %10 = linalg.fill ins(%cst_3 : f32) outs(%9 : tensor<2x5xf32>) -> tensor<2x5xf32>
    %11:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%6 : tensor<2x5x67xf32>) outs(%10, %8 : tensor<2x5xf32>, tensor<2x5xi64>) {
    ^bb0(%in: f32, %out: f32, %out_i: i64):
      %i = linalg.index 2 : index
      %j = arith.index_cast %i : index to i64
      %m = arith.maximumf %in, %out : f32
      %c = arith.cmpf ogt, %in, %out : f32
      %k = arith.select %c, %j, %out_i : i64
      linalg.yield %m, %k : f32, i64
    } -> (tensor<2x5xf32>, tensor<2x5xi64>)
    %12 = tensor.expand_shape %11#0 [[0], [1, 2]] output_shape [2, 5, 1] : tensor<2x5xf32> into tensor<2x5x1xf32>
    %13 = tensor.empty() : tensor<2x5x67xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6, %12 : tensor<2x5x67xf32>, tensor<2x5x1xf32>) outs(%13 : tensor<2x5x67xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<2x5x67xf32>
    %15 = tensor.empty() : tensor<2x5x67xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%14 : tensor<2x5x67xf32>) outs(%15 : tensor<2x5x67xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.exp %in0 : f32
      linalg.yield %r : f32
    } -> tensor<2x5x67xf32>
    %17 = tensor.empty() : tensor<2x5x1xf32>
    %18 = linalg.fill ins(%cst_0 : f32) outs(%17 : tensor<2x5x1xf32>) -> tensor<2x5x1xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%16 : tensor<2x5x67xf32>) outs(%18 : tensor<2x5x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<2x5x1xf32>
    %20 = tensor.empty() : tensor<2x5x67xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%16, %19 : tensor<2x5x67xf32>, tensor<2x5x1xf32>) outs(%20 : tensor<2x5x67xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.divf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<2x5x67xf32>
    %22 = tensor.extract_slice %arg1[0, 0, 0] [2, 67, 24] [1, 1, 1] : tensor<2x67x32xf32> to tensor<2x67x24xf32>
    %23 = tensor.empty() : tensor<2x5x24xf32>
    %24 = linalg.fill ins(%cst_0 : f32) outs(%23 : tensor<2x5x24xf32>) -> tensor<2x5x24xf32>
    %25 = linalg.batch_matmul ins(%21, %22 : tensor<2x5x67xf32>, tensor<2x67x24xf32>) outs(%24 : tensor<2x5x24xf32>) -> tensor<2x5x24xf32>
    return %25 : tensor<2x5x24xf32>
  }
}
