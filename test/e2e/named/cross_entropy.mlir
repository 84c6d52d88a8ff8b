module {
  func.func @main(%arg0: tensor<7x257xf32>, %arg1: tensor<7xi64>) -> (tensor<7xf32>) {
    %cst_0 = arith.constant 0 : i64
    %cst_1 = arith.constant 0xFF800000 : f32
    %cst_2 = arith.constant 0.0 : f32
    %cst_3 = arith.constant 257 : index
    %0 = tensor.empty() : tensor<7xi64>
    %1 = linalg.fill ins(%cst_0 : i64) outs(%0 : tensor<7xi64>) -> tensor<7xi64>
    %2 = tensor.empty() : tensor<7xf32>
    %3 = linalg.fill ins(%cst_1 : f32) outs(%2 : tensor<7xf32>) -> tensor<7xf32>
    %4:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<7x257xf32>) outs(%3, %1 : tensor<7xf32>, tensor<7xi64>) {
    ^bb0(%in: f32, %out: f32, %out_i: i64):
      %i = linalg.index 1 : index
      %j = arith.index_cast %i : index to i64
      %m = arith.maximumf %in, %out : f32
      %c = arith.cmpf ogt, %in, %out : f32
      %k = arith.select %c, %j, %out_i : i64
      linalg.yield %m, %k : f32, i64
    } -> (tensor<7xf32>, tensor<7xi64>)
    %5 = tensor.expand_shape %4#0 [[0, 1]] output_shape [7, 1] : tensor<7xf32> into tensor<7x1xf32>
    %6 = tensor.empty() : tensor<7x257xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0, %5 : tensor<7x257xf32>, tensor<7x1xf32>) outs(%6 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %8 = tensor.empty() : tensor<7x257xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%7 : tensor<7x257xf32>) outs(%8 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.exp %in0 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %10 = tensor.empty() : tensor<7x1xf32>
    %11 = linalg.fill ins(%cst_2 : f32) outs(%10 : tensor<7x1xf32>) -> tensor<7x1xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%9 : tensor<7x257xf32>) outs(%11 : tensor<7x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %13 = tensor.empty() : tensor<7x1xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%12 : tensor<7x1xf32>) outs(%13 : tensor<7x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.log %in0 : f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %15 = tensor.empty() : tensor<7x257xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%7, %14 : tensor<7x257xf32>, tensor<7x1xf32>) outs(%15 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %17 = tensor.empty() : tensor<7x1xf32>
    %18 = linalg.fill ins(%cst_2 : f32) outs(%17 : tensor<7x1xf32>) -> tensor<7x1xf32>
    %19 = tensor.expand_shape %arg1 [[0, 1]] output_shape [7, 1] : tensor<7xi64> into tensor<7x1xi64>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%19 : tensor<7x1xi64>) outs(%18 : tensor<7x1xf32>) {
    ^bb0(%in0: i64, %out: f32):
      %i = linalg.index 0 : index
      %j = arith.index_cast %in0 : i64 to index
      %c = arith.cmpi slt, %j, %cst_3 : index
      cf.assert %c, "index must be smaller than dim size"
      %d = arith.cmpi sge, %in0, %cst_0 : i64
      cf.assert %d, "index must be larger or equal to 0"
      %e = tensor.extract %16[%i, %j] : tensor<7x257xf32>
      linalg.yield %e : f32
    } -> tensor<7x1xf32>
    %21 = tensor.collapse_shape %20 [[0, 1]] : tensor<7x1xf32> into tensor<7xf32>
    %22 = tensor.empty() : tensor<7xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%21 : tensor<7xf32>) outs(%22 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.negf %in0 : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    return %23 : tensor<7xf32>
  }
}
