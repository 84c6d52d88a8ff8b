module {
  func.func @main(%arg0: tensor<?x1xf16>, %arg1: tensor<?x1xbf16>, %arg2: tensor<?xf32>, %arg3: tensor<?x1xf32>) -> (tensor<1xi64>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 0x7F800000 : f32
    %c2 = arith.constant 0 : i64
    %1 = tensor.dim %arg0, %c0 : tensor<?x1xf16>
    %2 = tensor.empty(%1) : tensor<?x1xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<?x1xf16>) outs(%2 : tensor<?x1xf32>) {
    ^bb0(%in0: f16, %out0: f32):
      %v1 = arith.extf %in0 : f16 to f32
      %v2 = arith.mulf %v1, %v1 : f32
      linalg.yield %v2 : f32
    } -> tensor<?x1xf32>
    %4 = tensor.empty() : tensor<1xf32>
    %5 = linalg.fill ins(%c1 : f32) outs(%4 : tensor<1xf32>) -> tensor<1xf32>
    %6 = tensor.empty() : tensor<1xi64>
    %7 = linalg.fill ins(%c2 : i64) outs(%6 : tensor<1xi64>) -> tensor<1xi64>
    %8:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%3 : tensor<?x1xf32>) outs(%5, %7 : tensor<1xf32>, tensor<1xi64>) {
    ^bb0(%in0: f32, %out0: f32, %out1: i64):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      %m = arith.minimumf %in0, %out0 : f32
      %c = arith.cmpf olt, %in0, %out0 : f32
      %k = arith.select %c, %j, %out1 : i64
      linalg.yield %m, %k : f32, i64
    } -> (tensor<1xf32>, tensor<1xi64>)
    return %8#1 : tensor<1xi64>
  }
}

