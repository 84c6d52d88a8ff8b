module {
  func.func @main(%arg0: tensor<7x257xf32>) -> (tensor<7xf32>) {
    %cst_0 = arith.constant 0.0 : f64
    %cst_1 = arith.constant 257.0 : f64
    %cst_2 = arith.constant 256.0 : f64
    %0 = tensor.empty() : tensor<7x257xf64>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<7x257xf32>) outs(%0 : tensor<7x257xf64>) {
    ^bb0(%in0: f32, %out: f64):
      %r = arith.extf %in0 : f32 to f64
      linalg.yield %r : f64
    } -> tensor<7x257xf64>
    %2 = tensor.empty() : tensor<7x1xf64>
    %3 = linalg.fill ins(%cst_0 : f64) outs(%2 : tensor<7x1xf64>) -> tensor<7x1xf64>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<7x257xf64>) outs(%3 : tensor<7x1xf64>) {
    ^bb0(%in0: f64, %out: f64):
      %r = arith.addf %in0, %out : f64
      linalg.yield %r : f64
    } -> tensor<7x1xf64>
    %5 = tensor.empty() : tensor<7x1xf64>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<7x1xf64>) outs(%5 : tensor<7x1xf64>) {
    ^bb0(%in0: f64, %out: f64):
      %r = arith.divf %in0, %cst_1 : f64
      linalg.yield %r : f64
    } -> tensor<7x1xf64>
    %7 = tensor.empty() : tensor<7x257xf64>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1, %6 : tensor<7x257xf64>, tensor<7x1xf64>) outs(%7 : tensor<7x257xf64>) {
    ^bb0(%in0: f64, %in1: f64, %out: f64):
      %r = arith.subf %in0, %in1 : f64
      linalg.yield %r : f64
    } -> tensor<7x257xf64>
    %9 = tensor.empty() : tensor<7x257xf64>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%8, %8 : tensor<7x257xf64>, tensor<7x257xf64>) outs(%9 : tensor<7x257xf64>) {
    ^bb0(%in0: f64, %in1: f64, %out: f64):
      %r = arith.mulf %in0, %in1 : f64
      linalg.yield %r : f64
    } -> tensor<7x257xf64>
    %11 = tensor.empty() : tensor<7xf64>
    %12 = linalg.fill ins(%cst_0 : f64) outs(%11 : tensor<7xf64>) -> tensor<7xf64>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%10 : tensor<7x257xf64>) outs(%12 : tensor<7xf64>) {
    ^bb0(%in0: f64, %out: f64):
      %r = arith.addf %in0, %out : f64
      linalg.yield %r : f64
    } -> tensor<7xf64>
    %14 = tensor.empty() : tensor<7xf64>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%13 : tensor<7xf64>) outs(%14 : tensor<7xf64>) {
    ^bb0(%in0: f64, %out: f64):
      %r = arith.divf %in0, %cst_2 : f64
      linalg.yield %r : f64
    } -> tensor<7xf64>
    %16 = tensor.empty() : tensor<7xf64>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%15 : tensor<7xf64>) outs(%16 : tensor<7xf64>) {
    ^bb0(%in0: f64, %out: f64):
      %r = math.sqrt %in0 : f64
      linalg.yield %r : f64
    } -> tensor<7xf64>
    %18 = tensor.empty() : tensor<7xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%17 : tensor<7xf64>) outs(%18 : tensor<7xf32>) {
    ^bb0(%in0: f64, %out: f32):
      %r = arith.truncf %in0 : f64 to f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    return %19 : tensor<7xf32>
  }
}
