// Elements that leave a start of 0 alone are not the identity: what follows is multiplied.
module {
  func.func @main(%arg0: tensor<2x5x2xf16>, %arg1: tensor<5xf32>) -> (tensor<2x2xf32>) {
    %c0 = arith.constant 2.50000000000000000e-01 : f32
    %c1 = arith.constant 0.00000000000000000e+00 : f32
    %1 = tensor.empty() : tensor<2x5x2xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0 : tensor<2x5x2xf16>) outs(%1 : tensor<2x5x2xf32>) {
    ^bb0(%in0: f16, %out0: f32):
      %v1 = arith.extf %in0 : f16 to f32
      linalg.yield %v1 : f32
    } -> tensor<2x5x2xf32>
    %3 = tensor.empty() : tensor<5xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg1 : tensor<5xf32>) outs(%3 : tensor<5xf32>) {
    ^bb0(%in0: f32, %out0: f32):
      %v1 = arith.mulf %in0, %c0 : f32
      %v2 = math.tanh %v1 : f32
      linalg.yield %v2 : f32
    } -> tensor<5xf32>
    %5 = tensor.empty() : tensor<2x2xf32>
    %6 = linalg.fill ins(%c1 : f32) outs(%5 : tensor<2x2xf32>) -> tensor<2x2xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%4, %2 : tensor<5xf32>, tensor<2x5x2xf32>) outs(%6 : tensor<2x2xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out0: f32):
      %s_p = arith.cmpf olt, %in1, %c1 : f32
      %s_t = arith.mulf %in0, %out0 : f32
      %s_u = arith.addf %s_t, %in1 : f32
      %s_n = arith.select %s_p, %out0, %s_u : f32
      linalg.yield %s_n : f32
    } -> tensor<2x2xf32>
    return %7 : tensor<2x2xf32>
  }
}
