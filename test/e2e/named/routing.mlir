module {
  func.func @main(%arg0: tensor<37x24xf32>, %arg1: tensor<24x19xf32>) -> (tensor<37x4xf32>, tensor<37x4xi64>) {
    %cst_0 = arith.constant 0.0 : f32
    %cst_1 = arith.constant 0 : i64
    %cst_2 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<37x19xf32>
    %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<37x19xf32>) -> tensor<37x19xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<37x24xf32>, tensor<24x19xf32>) outs(%1 : tensor<37x19xf32>) -> tensor<37x19xf32>
    %3 = tensor.empty() : tensor<37xi64>
    %4 = linalg.fill ins(%cst_1 : i64) outs(%3 : tensor<37xi64>) -> tensor<37xi64>
    %5 = tensor.empty() : tensor<37xf32>
    %6 = linalg.fill ins(%cst_2 : f32) outs(%5 : tensor<37xf32>) -> tensor<37xf32>
    %7:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%2 : tensor<37x19xf32>) outs(%6, %4 : tensor<37xf32>, tensor<37xi64>) {
    ^bb0(%in: f32, %out: f32, %out_i: i64):
      %i = linalg.index 1 : index
      %j = arith.index_cast %i : index to i64
      %m = arith.maximumf %in, %out : f32
      %c = arith.cmpf ogt, %in, %out : f32
      %k = arith.select %c, %j, %out_i : i64
      linalg.yield %m, %k : f32, i64
    } -> (tensor<37xf32>, tensor<37xi64>)
    %8 = tensor.expand_shape %7#0 [[0, 1]] output_shape [37, 1] : tensor<37xf32> into tensor<37x1xf32>
    %9 = tensor.empty() : tensor<37x19xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2, %8 : tensor<37x19xf32>, tensor<37x1xf32>) outs(%9 : tensor<37x19xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<37x19xf32>
    %11 = tensor.empty() : tensor<37x19xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%10 : tensor<37x19xf32>) outs(%11 : tensor<37x19xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.exp %in0 : f32
      linalg.yield %r : f32
    } -> tensor<37x19xf32>
    %13 = tensor.empty() : tensor<37x1xf32>
    %14 = linalg.fill ins(%cst_0 : f32) outs(%13 : tensor<37x1xf32>) -> tensor<37x1xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%12 : tensor<37x19xf32>) outs(%14 : tensor<37x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<37x1xf32>
    %16 = tensor.empty() : tensor<37x19xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%12, %15 : tensor<37x19xf32>, tensor<37x1xf32>) outs(%16 : tensor<37x19xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.divf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<37x19xf32>
    %18 = tensor.empty() : tensor<37x19xi64>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%18 : tensor<37x19xi64>) {
    ^bb0(%out: i64):
      %i = linalg.index 1 : index
      %j = arith.index_cast %i : index to i64
      linalg.yield %j : i64
    } -> tensor<37x19xi64>
    %20:2 = tm_tensor.sort dimension(1) outs(%17, %19 : tensor<37x19xf32>, tensor<37x19xi64>) {
    ^bb0(%a: f32, %b: f32, %i: i64, %j: i64):
      %c = arith.cmpf oge, %a, %b : f32
      tm_tensor.yield %c : i1
    } -> tensor<37x19xf32>, tensor<37x19xi64>
    %21 = tensor.extract_slice %20#0[0, 0] [37, 4] [1, 1] : tensor<37x19xf32> to tensor<37x4xf32>
    %22 = tensor.extract_slice %20#1[0, 0] [37, 4] [1, 1] : tensor<37x19xi64> to tensor<37x4xi64>
    return %21, %22 : tensor<37x4xf32>, tensor<37x4xi64>
  }
}
