module {
  func.func @main(%arg0: tensor<7x257xf32>, %arg1: tensor<7x257xf32>) -> (tensor<7xf32>) {
    %cst_0 = arith.constant 0.0 : f32
    %0 = tensor.empty() : tensor<7x257xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg1 : tensor<7x257xf32>) outs(%0 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.exp %in0 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %2 = tensor.empty() : tensor<7x257xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%1, %arg0 : tensor<7x257xf32>, tensor<7x257xf32>) outs(%2 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %4 = tensor.empty() : tensor<7xf32>
    %5 = linalg.fill ins(%cst_0 : f32) outs(%4 : tensor<7xf32>) -> tensor<7xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%3 : tensor<7x257xf32>) outs(%5 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %7 = tensor.empty() : tensor<7xf32>
    %8 = linalg.fill ins(%cst_0 : f32) outs(%7 : tensor<7xf32>) -> tensor<7xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<7x257xf32>) outs(%8 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %10 = tensor.empty() : tensor<7xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%6, %9 : tensor<7xf32>, tensor<7xf32>) outs(%10 : tensor<7xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.divf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    return %11 : tensor<7xf32>
  }
}
