module {
  func.func @main(%arg0: tensor<7x257xf32>) -> (tensor<7x257xf32>) {
    %cst_0 = arith.constant 0 : i64
    %cst_1 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<7x257xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<7x257xf32>) outs(%0 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.negf %in0 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %2 = tensor.empty() : tensor<7xi64>
    %3 = linalg.fill ins(%cst_0 : i64) outs(%2 : tensor<7xi64>) -> tensor<7xi64>
    %4 = tensor.empty() : tensor<7xf32>
    %5 = linalg.fill ins(%cst_1 : f32) outs(%4 : tensor<7xf32>) -> tensor<7xf32>
    %6:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<7x257xf32>) outs(%5, %3 : tensor<7xf32>, tensor<7xi64>) {
    ^bb0(%in: f32, %out: f32, %out_i: i64):
      %i = linalg.index 1 : index
      %j = arith.index_cast %i : index to i64
      %m = arith.maximumf %in, %out : f32
      %c = arith.cmpf ogt, %in, %out : f32
      %k = arith.select %c, %j, %out_i : i64
      linalg.yield %m, %k : f32, i64
    } -> (tensor<7xf32>, tensor<7xi64>)
    %7 = tensor.expand_shape %6#0 [[0, 1]] output_shape [7, 1] : tensor<7xf32> into tensor<7x1xf32>
    %8 = tensor.empty() : tensor<7x1xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%7 : tensor<7x1xf32>) outs(%8 : tensor<7x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.negf %in0 : f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %10 = tensor.empty() : tensor<7xi64>
    %11 = linalg.fill ins(%cst_0 : i64) outs(%10 : tensor<7xi64>) -> tensor<7xi64>
    %12 = tensor.empty() : tensor<7xf32>
    %13 = linalg.fill ins(%cst_1 : f32) outs(%12 : tensor<7xf32>) -> tensor<7xf32>
    %14:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<7x257xf32>) outs(%13, %11 : tensor<7xf32>, tensor<7xi64>) {
    ^bb0(%in: f32, %out: f32, %out_i: i64):
      %i = linalg.index 1 : index
      %j = arith.index_cast %i : index to i64
      %m = arith.maximumf %in, %out : f32
      %c = arith.cmpf ogt, %in, %out : f32
      %k = arith.select %c, %j, %out_i : i64
      linalg.yield %m, %k : f32, i64
    } -> (tensor<7xf32>, tensor<7xi64>)
    %15 = tensor.expand_shape %14#0 [[0, 1]] output_shape [7, 1] : tensor<7xf32> into tensor<7x1xf32>
    %16 = tensor.empty() : tensor<7x257xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0, %9 : tensor<7x257xf32>, tensor<7x1xf32>) outs(%16 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %18 = tensor.empty() : tensor<7x1xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%15, %9 : tensor<7x1xf32>, tensor<7x1xf32>) outs(%18 : tensor<7x1xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %20 = tensor.empty() : tensor<7x257xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%17, %19 : tensor<7x257xf32>, tensor<7x1xf32>) outs(%20 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.divf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    return %21 : tensor<7x257xf32>
  }
}
