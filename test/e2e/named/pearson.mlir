module {
  func.func @main(%arg0: tensor<7x257xf32>, %arg1: tensor<7x257xf32>) -> (tensor<7xf32>) {
    %cst_0 = arith.constant 0.0 : f32
    %cst_1 = arith.constant 257.0 : f32
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
    %7 = tensor.empty() : tensor<7x1xf32>
    %8 = linalg.fill ins(%cst_0 : f32) outs(%7 : tensor<7x1xf32>) -> tensor<7x1xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%arg1 : tensor<7x257xf32>) outs(%8 : tensor<7x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %10 = tensor.empty() : tensor<7x1xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<7x1xf32>) outs(%10 : tensor<7x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.divf %in0, %cst_1 : f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %12 = tensor.empty() : tensor<7x257xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg1, %11 : tensor<7x257xf32>, tensor<7x1xf32>) outs(%12 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %14 = tensor.empty() : tensor<7x257xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%6, %13 : tensor<7x257xf32>, tensor<7x257xf32>) outs(%14 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %16 = tensor.empty() : tensor<7xf32>
    %17 = linalg.fill ins(%cst_0 : f32) outs(%16 : tensor<7xf32>) -> tensor<7xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%15 : tensor<7x257xf32>) outs(%17 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %19 = tensor.empty() : tensor<7x257xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%6, %6 : tensor<7x257xf32>, tensor<7x257xf32>) outs(%19 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %21 = tensor.empty() : tensor<7xf32>
    %22 = linalg.fill ins(%cst_0 : f32) outs(%21 : tensor<7xf32>) -> tensor<7xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%20 : tensor<7x257xf32>) outs(%22 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %24 = tensor.empty() : tensor<7x257xf32>
    %25 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%13, %13 : tensor<7x257xf32>, tensor<7x257xf32>) outs(%24 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %26 = tensor.empty() : tensor<7xf32>
    %27 = linalg.fill ins(%cst_0 : f32) outs(%26 : tensor<7xf32>) -> tensor<7xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%25 : tensor<7x257xf32>) outs(%27 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %29 = tensor.empty() : tensor<7xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%23, %28 : tensor<7xf32>, tensor<7xf32>) outs(%29 : tensor<7xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %31 = tensor.empty() : tensor<7xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%30 : tensor<7xf32>) outs(%31 : tensor<7xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.sqrt %in0 : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    %33 = tensor.empty() : tensor<7xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%18, %32 : tensor<7xf32>, tensor<7xf32>) outs(%33 : tensor<7xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.divf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7xf32>
    return %34 : tensor<7xf32>
  }
}
