module {
  func.func @main(%arg0: tensor<2x37x16xf32>, %arg1: tensor<2x37x16xf32>, %arg2: tensor<2x37x8xf32>, %arg3: tensor<2xf32>) -> (tensor<2x37x8xf32>) {
    %cst_0 = arith.constant dense<0.0> : tensor<f32>
    %cst_1 = arith.constant 0.0 : f32
    %cst_2 = arith.constant 1.0 : f64
    %0 = tensor.expand_shape %arg3 [[0, 1]] output_shape [2, 1] : tensor<2xf32> into tensor<2x1xf32>
    %1 = tensor.expand_shape %0 [[0], [1, 2]] output_shape [2, 1, 1] : tensor<2x1xf32> into tensor<2x1x1xf32>
    %2 = tensor.empty() : tensor<37xi64>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%2 : tensor<37xi64>) {
    ^bb0(%out: i64):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      linalg.yield %j : i64
    } -> tensor<37xi64>
    %4 = tensor.expand_shape %3 [[0, 1]] output_shape [37, 1] : tensor<37xi64> into tensor<37x1xi64>
    %5 = tensor.empty() : tensor<37xi64>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%5 : tensor<37xi64>) {
    ^bb0(%out: i64):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      linalg.yield %j : i64
    } -> tensor<37xi64>
    %7 = tensor.expand_shape %6 [[0, 1]] output_shape [1, 37] : tensor<37xi64> into tensor<1x37xi64>
    %8 = tensor.empty() : tensor<37x37xi64>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%4, %7 : tensor<37x1xi64>, tensor<1x37xi64>) outs(%8 : tensor<37x37xi64>) {
    ^bb0(%in0: i64, %in1: i64, %out: i64):
      %r = arith.subi %in0, %in1 : i64
      linalg.yield %r : i64
    } -> tensor<37x37xi64>
    %10 = tensor.empty() : tensor<2x1x1xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%1 : tensor<2x1x1xf32>) outs(%10 : tensor<2x1x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.absf %in0 : f32
      linalg.yield %r : f32
    } -> tensor<2x1x1xf32>
    %12 = tensor.empty() : tensor<2x1x1xf32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%11 : tensor<2x1x1xf32>) outs(%12 : tensor<2x1x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.negf %in0 : f32
      linalg.yield %r : f32
    } -> tensor<2x1x1xf32>
    %14 = tensor.empty() : tensor<37x37xf32>
    %15 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%9 : tensor<37x37xi64>) outs(%14 : tensor<37x37xf32>) {
    ^bb0(%in0: i64, %out: f32):
      %r = arith.sitofp %in0 : i64 to f32
      linalg.yield %r : f32
    } -> tensor<37x37xf32>
    %16 = tensor.empty() : tensor<2x37x37xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, 0)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%13, %15 : tensor<2x1x1xf32>, tensor<37x37xf32>) outs(%16 : tensor<2x37x37xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<2x37x37xf32>
    %18 = tensor.empty() : tensor<2x37x37xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%17 : tensor<2x37x37xf32>) outs(%18 : tensor<2x37x37xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.exp %in0 : f32
      linalg.yield %r : f32
    } -> tensor<2x37x37xf32>
    %20 = tensor.empty() : tensor<37x37xi1>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%4, %7 : tensor<37x1xi64>, tensor<1x37xi64>) outs(%20 : tensor<37x37xi1>) {
    ^bb0(%in0: i64, %in1: i64, %out: i1):
      %r = arith.cmpi slt, %in0, %in1 : i64
      linalg.yield %r : i1
    } -> tensor<37x37xi1>
    %22 = tensor.empty() : tensor<2x37x37xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%21, %cst_0, %19 : tensor<37x37xi1>, tensor<f32>, tensor<2x37x37xf32>) outs(%22 : tensor<2x37x37xf32>) {
    ^bb0(%in0: i1, %in1: f32, %in2: f32, %out: f32):
      %r = arith.select %in0, %in1, %in2 : f32
      linalg.yield %r : f32
    } -> tensor<2x37x37xf32>
    %24 = tensor.empty() : tensor<2x16x37xf32>
    %25 = linalg.transpose ins(%arg1 : tensor<2x37x16xf32>) outs(%24 : tensor<2x16x37xf32>) permutation = [0, 2, 1]
    %26 = tensor.empty() : tensor<2x37x37xf32>
    %27 = linalg.fill ins(%cst_1 : f32) outs(%26 : tensor<2x37x37xf32>) -> tensor<2x37x37xf32>
    %28 = linalg.batch_matmul ins(%arg0, %25 : tensor<2x37x16xf32>, tensor<2x16x37xf32>) outs(%27 : tensor<2x37x37xf32>) -> tensor<2x37x37xf32>
    %29 = tensor.empty() : tensor<2x37x37xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%28 : tensor<2x37x37xf32>) outs(%29 : tensor<2x37x37xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %s = arith.truncf %cst_2 : f64 to f32
      %r = arith.mulf %in0, %s : f32
      linalg.yield %r : f32
    } -> tensor<2x37x37xf32>
    %31 = tensor.empty() : tensor<2x37x37xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%30, %23 : tensor<2x37x37xf32>, tensor<2x37x37xf32>) outs(%31 : tensor<2x37x37xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<2x37x37xf32>
    %33 = tensor.empty() : tensor<2x37x8xf32>
    %34 = linalg.fill ins(%cst_1 : f32) outs(%33 : tensor<2x37x8xf32>) -> tensor<2x37x8xf32>
    %35 = linalg.batch_matmul ins(%32, %arg2 : tensor<2x37x37xf32>, tensor<2x37x8xf32>) outs(%34 : tensor<2x37x8xf32>) -> tensor<2x37x8xf32>
    return %35 : tensor<2x37x8xf32>
  }
}
