module {
  func.func @main(%arg0: tensor<7x257xf32>) -> (tensor<7xf32>) {
    %cst_0 = arith.constant 0.0 : f32
    %cst_1 = arith.constant 257.0 : f32
    %cst_2 = arith.constant 2 : i64
    %0 = tensor.empty() : tensor<7x1xf32>
    %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<7x1xf32>) -> tensor<7x1xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<7x257xf32>) outs(%1 : tensor<7x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %3 = tensor.empty() : tensor<7x1xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<7x1xf32>) outs(%3 : tensor<7x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.divf %in0, %cst_1 : f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %5 = tensor.empty() : tensor<7x257xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0, %4 : tensor<7x257xf32>, tensor<7x1xf32>) outs(%5 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %7 = tensor.empty() : tensor<7x257xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<7x257xf32>) outs(%7 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.fpowi %in0, %cst_2 : f32, i64
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %9 = tensor.empty() : tensor<7xf32>
    %10 = linalg.fill ins(%cst_0 : f32) outs(%9 : tensor<7xf32>) -> tensor<7xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%8 : tensor<7x257xf32>) outs(%10 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %12 = tensor.empty() : tensor<7xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%11 : tensor<7xf32>) outs(%12 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.divf %in0, %cst_1 : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    return %13 : tensor<7xf32>
  }
}
