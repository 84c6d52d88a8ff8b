module {
  func.func @main(%arg0: tensor<7x257xf32>, %arg1: tensor<257xf32>, %arg2: tensor<257xf32>) -> (tensor<7x257xf32>) {
    %cst_0 = arith.constant 0.0 : f64
    %cst_1 = arith.constant 257.0 : f64
    %cst_2 = arith.constant 0.0 : f32
    %cst_3 = arith.constant 257.0 : f32
    %cst_4 = arith.constant 1.0E-5 : f64
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
    %11 = tensor.empty() : tensor<7x1xf64>
    %12 = linalg.fill ins(%cst_0 : f64) outs(%11 : tensor<7x1xf64>) -> tensor<7x1xf64>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%10 : tensor<7x257xf64>) outs(%12 : tensor<7x1xf64>) {
    ^bb0(%in0: f64, %out: f64):
      %r = arith.addf %in0, %out : f64
      linalg.yield %r : f64
    } -> tensor<7x1xf64>
    %14 = tensor.empty() : tensor<7x1xf64>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%13 : tensor<7x1xf64>) outs(%14 : tensor<7x1xf64>) {
    ^bb0(%in0: f64, %out: f64):
      %r = arith.divf %in0, %cst_1 : f64
      linalg.yield %r : f64
    } -> tensor<7x1xf64>
    %16 = tensor.empty() : tensor<7x1xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%15 : tensor<7x1xf64>) outs(%16 : tensor<7x1xf32>) {
    ^bb0(%in0: f64, %out: f32):
      %r = arith.truncf %in0 : f64 to f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %18 = tensor.empty() : tensor<7x1xf32>
    %19 = linalg.fill ins(%cst_2 : f32) outs(%18 : tensor<7x1xf32>) -> tensor<7x1xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<7x257xf32>) outs(%19 : tensor<7x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %21 = tensor.empty() : tensor<7x1xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%20 : tensor<7x1xf32>) outs(%21 : tensor<7x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.divf %in0, %cst_3 : f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %23 = tensor.empty() : tensor<7x1xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%17 : tensor<7x1xf32>) outs(%23 : tensor<7x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %s = arith.truncf %cst_4 : f64 to f32
      %r = arith.addf %in0, %s : f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %25 = tensor.empty() : tensor<7x1xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%24 : tensor<7x1xf32>) outs(%25 : tensor<7x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.rsqrt %in0 : f32
      linalg.yield %r : f32
    } -> tensor<7x1xf32>
    %27 = tensor.empty() : tensor<7x257xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0, %22 : tensor<7x257xf32>, tensor<7x1xf32>) outs(%27 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %29 = tensor.empty() : tensor<7x257xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%28, %26 : tensor<7x257xf32>, tensor<7x1xf32>) outs(%29 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %31 = tensor.empty() : tensor<7x257xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%30, %arg1 : tensor<7x257xf32>, tensor<257xf32>) outs(%31 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    %33 = tensor.empty() : tensor<7x257xf32>
    %34 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%32, %arg2 : tensor<7x257xf32>, tensor<257xf32>) outs(%33 : tensor<7x257xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.addf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<7x257xf32>
    return %34 : tensor<7x257xf32>
  }
}
