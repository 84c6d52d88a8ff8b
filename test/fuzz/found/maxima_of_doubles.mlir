// Maxima of f64 that warps exchange by words, of threads that reduce what depends on one.
module {
  func.func @main(%arg0: tensor<37x5x3xf64>, %arg1: tensor<37xf32>, %arg2: tensor<37x5x3xf16>) -> (tensor<f64>, tensor<5x3xf64>) {
    %c0 = arith.constant 0xFFF0000000000000 : f64
    %1 = tensor.empty() : tensor<37xf64>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg1 : tensor<37xf32>) outs(%1 : tensor<37xf64>) {
    ^bb0(%in0: f32, %out0: f64):
      %v1 = arith.extf %in0 : f32 to f64
      linalg.yield %v1 : f64
    } -> tensor<37xf64>
    %3 = tensor.empty() : tensor<37xf64>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%2 : tensor<37xf64>) outs(%3 : tensor<37xf64>) {
    ^bb0(%in0: f64, %out0: f64):
      %v1 = math.absf %in0 : f64
      linalg.yield %v1 : f64
    } -> tensor<37xf64>
    %5 = tensor.empty() : tensor<f64>
    %6 = linalg.fill ins(%c0 : f64) outs(%5 : tensor<f64>) -> tensor<f64>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%4 : tensor<37xf64>) outs(%6 : tensor<f64>) {
    ^bb0(%in0: f64, %out0: f64):
      %r = arith.maximumf %in0, %out0 : f64
      linalg.yield %r : f64
    } -> tensor<f64>
    %8 = tensor.empty() : tensor<37x5x3xf64>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg2 : tensor<37x5x3xf16>) outs(%8 : tensor<37x5x3xf64>) {
    ^bb0(%in0: f16, %out0: f64):
      %v1 = arith.extf %in0 : f16 to f64
      linalg.yield %v1 : f64
    } -> tensor<37x5x3xf64>
    %10 = tensor.empty() : tensor<37x5x3xf64>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%9, %7 : tensor<37x5x3xf64>, tensor<f64>) outs(%10 : tensor<37x5x3xf64>) {
    ^bb0(%in0: f64, %in1: f64, %out0: f64):
      %v2 = arith.subf %in0, %in1 : f64
      linalg.yield %v2 : f64
    } -> tensor<37x5x3xf64>
    %12 = tensor.empty() : tensor<5x3xf64>
    %13 = linalg.fill ins(%c0 : f64) outs(%12 : tensor<5x3xf64>) -> tensor<5x3xf64>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%11 : tensor<37x5x3xf64>) outs(%13 : tensor<5x3xf64>) {
    ^bb0(%in0: f64, %out0: f64):
      %r = arith.maximumf %in0, %out0 : f64
      linalg.yield %r : f64
    } -> tensor<5x3xf64>
    return %7, %14 : tensor<f64>, tensor<5x3xf64>
  }
}
