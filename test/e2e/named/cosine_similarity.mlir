module {
  func.func @main(%arg0: tensor<7x257xf32>, %arg1: tensor<7x257xf32>) -> (tensor<7xf32>) {
    %cst_0 = arith.constant 0.0 : f32
    %cst_1 = arith.constant 1.0E-16 : f32
    %0 = tensor.empty() : tensor<7x257xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg0 : tensor<7x257xf32>, tensor<7x257xf32>) outs(%0 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %2 = tensor.empty() : tensor<7xf32>
    %3 = linalg.fill ins(%cst_0 : f32) outs(%2 : tensor<7xf32>) -> tensor<7xf32>
    %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%1 : tensor<7x257xf32>) outs(%3 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %5 = tensor.empty() : tensor<7x257xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg1, %arg1 : tensor<7x257xf32>, tensor<7x257xf32>) outs(%5 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %7 = tensor.empty() : tensor<7xf32>
    %8 = linalg.fill ins(%cst_0 : f32) outs(%7 : tensor<7xf32>) -> tensor<7xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%6 : tensor<7x257xf32>) outs(%8 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %10 = tensor.empty() : tensor<7xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%4, %9 : tensor<7xf32>, tensor<7xf32>) outs(%10 : tensor<7xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %12 = tensor.empty() : tensor<7x257xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0, %arg1 : tensor<7x257xf32>, tensor<7x257xf32>) outs(%12 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %14 = tensor.empty() : tensor<7xf32>
    %15 = linalg.fill ins(%cst_0 : f32) outs(%14 : tensor<7xf32>) -> tensor<7xf32>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%13 : tensor<7x257xf32>) outs(%15 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %17 = tensor.empty() : tensor<7xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%11 : tensor<7xf32>) outs(%17 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %c = arith.cmpf ult, %in0, %cst_1 : f32
      %r = arith.select %c, %cst_1, %in0 : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %19 = tensor.empty() : tensor<7xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%18 : tensor<7xf32>) outs(%19 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.sqrt %in0 : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %21 = tensor.empty() : tensor<7xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%16, %20 : tensor<7xf32>, tensor<7xf32>) outs(%21 : tensor<7xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.divf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    return %22 : tensor<7xf32>
  }
}
