// A reduction of a step, along another dim than the step's, on the same threads.
module {
  func.func @main(%arg0: tensor<64x3xf32>, %arg1: tensor<64xf32>, %arg2: tensor<64x3xf32>, %arg3: tensor<64xf32>, %arg4: tensor<64x3x5xbf16>, %arg5: tensor<64xf32>, %arg6: tensor<64xf32>) -> (tensor<3x5xf32>, tensor<3x5xi64>) {
    %c0 = arith.constant 0.00000000000000000e+00 : f32
    %c1 = arith.constant -3.00000000000000000e+00 : f32
    %c2 = arith.constant 0x7F800000 : f32
    %c3 = arith.constant 0 : i64
    %1 = tensor.empty() : tensor<64x3x5xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg4 : tensor<64x3x5xbf16>) outs(%1 : tensor<64x3x5xf32>) {
    ^bb0(%in0: bf16, %out0: f32):
      %v1 = arith.extf %in0 : bf16 to f32
      linalg.yield %v1 : f32
    } -> tensor<64x3x5xf32>
    %3 = tensor.empty() : tensor<64x3x5xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg3, %2 : tensor<64xf32>, tensor<64x3x5xf32>) outs(%3 : tensor<64x3x5xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out0: f32):
      %v2 = arith.mulf %in0, %in1 : f32
      linalg.yield %v2 : f32
    } -> tensor<64x3x5xf32>
    %5 = tensor.empty() : tensor<3x5xf32>
    %6 = linalg.fill ins(%c0 : f32) outs(%5 : tensor<3x5xf32>) -> tensor<3x5xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%4 : tensor<64x3x5xf32>) outs(%6 : tensor<3x5xf32>) {
    ^bb0(%in0: f32, %out0: f32):
      %r = arith.addf %in0, %out0 : f32
      linalg.yield %r : f32
    } -> tensor<3x5xf32>
    %8 = tensor.empty() : tensor<64xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg1, %arg5 : tensor<64xf32>, tensor<64xf32>) outs(%8 : tensor<64xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out0: f32):
      %v1 = arith.cmpf oeq, %in0, %c0 : f32
      %v3 = arith.select %v1, %in1, %c1 : f32
      linalg.yield %v3 : f32
    } -> tensor<64xf32>
    %10 = tensor.empty() : tensor<64xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%10 : tensor<64xf32>) {
    ^bb0(%out0: f32):
      %x0 = linalg.index 0 : index
      %y0 = arith.index_cast %x0 : index to i64
      %v1 = arith.sitofp %y0 : i64 to f32
      linalg.yield %v1 : f32
    } -> tensor<64xf32>
    %12 = tensor.empty() : tensor<64x3x5xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%7, %9, %arg6, %11 : tensor<3x5xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) outs(%12 : tensor<64x3x5xf32>) {
    ^bb0(%in0: f32, %in1: f32, %in2: f32, %in3: f32, %out0: f32):
      %v2 = arith.divf %in0, %in1 : f32
      %v5 = arith.mulf %in2, %in3 : f32
      %v6 = arith.mulf %v2, %v5 : f32
      linalg.yield %v6 : f32
    } -> tensor<64x3x5xf32>
    %14 = tensor.empty() : tensor<3x5xf32>
    %15 = linalg.fill ins(%c2 : f32) outs(%14 : tensor<3x5xf32>) -> tensor<3x5xf32>
    %16 = tensor.empty() : tensor<3x5xi64>
    %17 = linalg.fill ins(%c3 : i64) outs(%16 : tensor<3x5xi64>) -> tensor<3x5xi64>
    %18:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%13 : tensor<64x3x5xf32>) outs(%15, %17 : tensor<3x5xf32>, tensor<3x5xi64>) {
    ^bb0(%in0: f32, %out0: f32, %out1: i64):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      %c = arith.cmpf olt, %in0, %out0 : f32
      %m = arith.select %c, %in0, %out0 : f32
      %k = arith.select %c, %j, %out1 : i64
      linalg.yield %m, %k : f32, i64
    } -> (tensor<3x5xf32>, tensor<3x5xi64>)
    return %7, %18#1 : tensor<3x5xf32>, tensor<3x5xi64>
  }
}
