module {
  func.func @main(%arg0: tensor<1x2x37x16xf32>, %arg1: tensor<1x2x67x16xf32>, %arg2: tensor<1x2x67x16xf32>, %arg3: tensor<2xf32>) -> (tensor<1x2x37x16xf32>) {
    %cst_0 = arith.constant 0.0 : f32
    %cst_1 = arith.constant 4.0 : f64
    %cst_2 = arith.constant 30 : i64
    %cst_3 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_4 = arith.constant 0 : i64
    %cst_5 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<1x2x16x67xf32>
    %1 = linalg.transpose ins(%arg1 : tensor<1x2x67x16xf32>) outs(%0 : tensor<1x2x16x67xf32>) permutation = [0, 1, 3, 2]
    %2 = tensor.collapse_shape %arg0 [[0, 1], [2], [3]] : tensor<1x2x37x16xf32> into tensor<2x37x16xf32>
    %3 = tensor.collapse_shape %1 [[0, 1], [2], [3]] : tensor<1x2x16x67xf32> into tensor<2x16x67xf32>
    %4 = tensor.empty() : tensor<2x37x67xf32>
    %5 = linalg.fill ins(%cst_0 : f32) outs(%4 : tensor<2x37x67xf32>) -> tensor<2x37x67xf32>
    %6 = linalg.batch_matmul ins(%2, %3 : tensor<2x37x16xf32>, tensor<2x16x67xf32>) outs(%5 : tensor<2x37x67xf32>) -> tensor<2x37x67xf32>
    %7 = tensor.expand_shape %6 [[0, 1], [2], [3]] output_shape [1, 2, 37, 67] : tensor<2x37x67xf32> into tensor<1x2x37x67xf32>
    %8 = tensor.empty() : tensor<1x2x37x67xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7 : tensor<1x2x37x67xf32>) outs(%8 : tensor<1x2x37x67xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %s = arith.truncf %cst_1 : f64 to f32
      %r = arith.divf %in0, %s : f32
      linalg.yield %r : f32
    } -> tensor<1x2x37x67xf32>
    %10 = tensor.empty() : tensor<37xi64>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%10 : tensor<37xi64>) {
    ^bb0(%out: i64):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      linalg.yield %j : i64
    } -> tensor<37xi64>
    %12 = tensor.empty() : tensor<37xi64>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%11 : tensor<37xi64>) outs(%12 : tensor<37xi64>) {
    ^bb0(%in0: i64, %out: i64):
      %r = arith.addi %in0, %cst_2 : i64
      linalg.yield %r : i64
    } -> tensor<37xi64>
    %14 = tensor.expand_shape %13 [[0, 1]] output_shape [37, 1] : tensor<37xi64> into tensor<37x1xi64>
    %15 = tensor.empty() : tensor<67xi64>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%15 : tensor<67xi64>) {
    ^bb0(%out: i64):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      linalg.yield %j : i64
    } -> tensor<67xi64>
    %17 = tensor.expand_shape %16 [[0, 1]] output_shape [1, 67] : tensor<67xi64> into tensor<1x67xi64>
    %18 = tensor.empty() : tensor<37x67xi64>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%17, %14 : tensor<1x67xi64>, tensor<37x1xi64>) outs(%18 : tensor<37x67xi64>) {
    ^bb0(%in0: i64, %in1: i64, %out: i64):
      %r = arith.subi %in0, %in1 : i64
      linalg.yield %r : i64
    } -> tensor<37x67xi64>
    %20 = tensor.expand_shape %arg3 [[0, 1, 2]] output_shape [2, 1, 1] : tensor<2xf32> into tensor<2x1x1xf32>
    %21 = tensor.empty() : tensor<37x67xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%19 : tensor<37x67xi64>) outs(%21 : tensor<37x67xf32>) {
    ^bb0(%in0: i64, %out: f32):
      %r = arith.sitofp %in0 : i64 to f32
      linalg.yield %r : f32
    } -> tensor<37x67xf32>
    %23 = tensor.empty() : tensor<2x37x67xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, 0, 0)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20, %22 : tensor<2x1x1xf32>, tensor<37x67xf32>) outs(%23 : tensor<2x37x67xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.mulf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<2x37x67xf32>
    %25 = tensor.empty() : tensor<1x2x37x67xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9, %24 : tensor<1x2x37x67xf32>, tensor<2x37x67xf32>) outs(%25 : tensor<1x2x37x67xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.addf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<1x2x37x67xf32>
    %27 = tensor.empty() : tensor<37xi64>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%27 : tensor<37xi64>) {
    ^bb0(%out: i64):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      linalg.yield %j : i64
    } -> tensor<37xi64>
    %29 = tensor.empty() : tensor<37xi64>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%28 : tensor<37xi64>) outs(%29 : tensor<37xi64>) {
    ^bb0(%in0: i64, %out: i64):
      %r = arith.addi %in0, %cst_2 : i64
      linalg.yield %r : i64
    } -> tensor<37xi64>
    %31 = tensor.expand_shape %30 [[0, 1]] output_shape [37, 1] : tensor<37xi64> into tensor<37x1xi64>
    %32 = tensor.empty() : tensor<67xi64>
    %33 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%32 : tensor<67xi64>) {
    ^bb0(%out: i64):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      linalg.yield %j : i64
    } -> tensor<67xi64>
    %34 = tensor.expand_shape %33 [[0, 1]] output_shape [1, 67] : tensor<67xi64> into tensor<1x67xi64>
    %35 = tensor.empty() : tensor<37x67xi1>
    %36 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%31, %34 : tensor<37x1xi64>, tensor<1x67xi64>) outs(%35 : tensor<37x67xi1>) {
    ^bb0(%in0: i64, %in1: i64, %out: i1):
      %r = arith.cmpi slt, %in0, %in1 : i64
      linalg.yield %r : i1
    } -> tensor<37x67xi1>
    %37 = tensor.empty() : tensor<1x2x37x67xf32>
    %38 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36, %cst_3, %26 : tensor<37x67xi1>, tensor<f32>, tensor<1x2x37x67xf32>) outs(%37 : tensor<1x2x37x67xf32>) {
    ^bb0(%in0: i1, %in1: f32, %in2: f32, %out: f32):
      %r = arith.select %in0, %in1, %in2 : f32
      linalg.yield %r : f32
    } -> tensor<1x2x37x67xf32>
    %39 = tensor.empty() : tensor<1x2x37xi64>
    %40 = linalg.fill ins(%cst_4 : i64) outs(%39 : tensor<1x2x37xi64>) -> tensor<1x2x37xi64>
    %41 = tensor.empty() : tensor<1x2x37xf32>
    %42 = linalg.fill ins(%cst_5 : f32) outs(%41 : tensor<1x2x37xf32>) -> tensor<1x2x37xf32>
    %43:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%38 : tensor<1x2x37x67xf32>) outs(%42, %40 : tensor<1x2x37xf32>, tensor<1x2x37xi64>) {
    ^bb0(%in: f32, %out: f32, %out_i: i64):
      %i = linalg.index 3 : index
      %j = arith.index_cast %i : index to i64
      %m = arith.maximumf %in, %out : f32
      %c = arith.cmpf ogt, %in, %out : f32
      %k = arith.select %c, %j, %out_i : i64
      linalg.yield %m, %k : f32, i64
    } -> (tensor<1x2x37xf32>, tensor<1x2x37xi64>)
    %44 = tensor.expand_shape %43#0 [[0], [1], [2, 3]] output_shape [1, 2, 37, 1] : tensor<1x2x37xf32> into tensor<1x2x37x1xf32>
    %45 = tensor.empty() : tensor<1x2x37x67xf32>
    %46 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%38, %44 : tensor<1x2x37x67xf32>, tensor<1x2x37x1xf32>) outs(%45 : tensor<1x2x37x67xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<1x2x37x67xf32>
    %47 = tensor.empty() : tensor<1x2x37x67xf32>
    %48 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%46 : tensor<1x2x37x67xf32>) outs(%47 : tensor<1x2x37x67xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.exp %in0 : f32
      linalg.yield %r : f32
    } -> tensor<1x2x37x67xf32>
    %49 = tensor.empty() : tensor<1x2x37x1xf32>
    %50 = linalg.fill ins(%cst_0 : f32) outs(%49 : tensor<1x2x37x1xf32>) -> tensor<1x2x37x1xf32>
    %51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%48 : tensor<1x2x37x67xf32>) outs(%50 : tensor<1x2x37x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<1x2x37x1xf32>
    %52 = tensor.empty() : tensor<1x2x37x67xf32>
    %53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, 0)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%48, %51 : tensor<1x2x37x67xf32>, tensor<1x2x37x1xf32>) outs(%52 : tensor<1x2x37x67xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.divf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<1x2x37x67xf32>
    %54 = tensor.collapse_shape %53 [[0, 1], [2], [3]] : tensor<1x2x37x67xf32> into tensor<2x37x67xf32>
    %55 = tensor.collapse_shape %arg2 [[0, 1], [2], [3]] : tensor<1x2x67x16xf32> into tensor<2x67x16xf32>
    %56 = tensor.empty() : tensor<2x37x16xf32>
    %57 = linalg.fill ins(%cst_0 : f32) outs(%56 : tensor<2x37x16xf32>) -> tensor<2x37x16xf32>
    %58 = linalg.batch_matmul ins(%54, %55 : tensor<2x37x67xf32>, tensor<2x67x16xf32>) outs(%57 : tensor<2x37x16xf32>) -> tensor<2x37x16xf32>
    %59 = tensor.expand_shape %58 [[0, 1], [2], [3]] output_shape [1, 2, 37, 16] : tensor<2x37x16xf32> into tensor<1x2x37x16xf32>
    return %59 : tensor<1x2x37x16xf32>
  }
}
