module {
  func.func @main(%arg0: tensor<2x37x16xf32>, %arg1: tensor<2x67x16xf32>, %arg2: tensor<2x67x16xf32>) -> (tensor<2x37x16xf32>) {
    %cst_0 = arith.constant 30 : i64
    %cst_1 = arith.constant 13 : i64
    %cst_2 = arith.constant 0.0 : f32
    %cst_3 = arith.constant 0.25 : f64
    %cst_4 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_5 = arith.constant 0 : i64
    %cst_6 = arith.constant 0xFF800000 : f32
    %0 = tensor.empty() : tensor<37xi64>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%0 : tensor<37xi64>) {
    ^bb0(%out: i64):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      linalg.yield %j : i64
    } -> tensor<37xi64>
    %2 = tensor.empty() : tensor<37xi64>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%1 : tensor<37xi64>) outs(%2 : tensor<37xi64>) {
    ^bb0(%in0: i64, %out: i64):
      %r = arith.addi %in0, %cst_0 : i64
      linalg.yield %r : i64
    } -> tensor<37xi64>
    %4 = tensor.expand_shape %3 [[0, 1]] output_shape [37, 1] : tensor<37xi64> into tensor<37x1xi64>
    %5 = tensor.empty() : tensor<67xi64>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%5 : tensor<67xi64>) {
    ^bb0(%out: i64):
      %i = linalg.index 0 : index
      %j = arith.index_cast %i : index to i64
      linalg.yield %j : i64
    } -> tensor<67xi64>
    %7 = tensor.expand_shape %6 [[0, 1]] output_shape [1, 67] : tensor<67xi64> into tensor<1x67xi64>
    %8 = tensor.empty() : tensor<37x67xi1>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%4, %7 : tensor<37x1xi64>, tensor<1x67xi64>) outs(%8 : tensor<37x67xi1>) {
    ^bb0(%in0: i64, %in1: i64, %out: i1):
      %d = arith.subi %in0, %in1 : i64
      %r = arith.cmpi sge, %d, %cst_1 : i64
      linalg.yield %r : i1
    } -> tensor<37x67xi1>
    %10 = tensor.empty() : tensor<37x67xi1>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%4, %7 : tensor<37x1xi64>, tensor<1x67xi64>) outs(%10 : tensor<37x67xi1>) {
    ^bb0(%in0: i64, %in1: i64, %out: i1):
      %r = arith.cmpi slt, %in0, %in1 : i64
      linalg.yield %r : i1
    } -> tensor<37x67xi1>
    %12 = tensor.empty() : tensor<37x67xi1>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%9, %11 : tensor<37x67xi1>, tensor<37x67xi1>) outs(%12 : tensor<37x67xi1>) {
    ^bb0(%in0: i1, %in1: i1, %out: i1):
      %r = arith.ori %in0, %in1 : i1
      linalg.yield %r : i1
    } -> tensor<37x67xi1>
    %14 = tensor.empty() : tensor<2x16x67xf32>
    %15 = linalg.transpose ins(%arg1 : tensor<2x67x16xf32>) outs(%14 : tensor<2x16x67xf32>) permutation = [0, 2, 1]
    %16 = tensor.empty() : tensor<2x37x67xf32>
    %17 = linalg.fill ins(%cst_2 : f32) outs(%16 : tensor<2x37x67xf32>) -> tensor<2x37x67xf32>
    %18 = linalg.batch_matmul ins(%arg0, %15 : tensor<2x37x16xf32>, tensor<2x16x67xf32>) outs(%17 : tensor<2x37x67xf32>) -> tensor<2x37x67xf32>
    %19 = tensor.empty() : tensor<2x37x67xf32>
    %20 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%18 : tensor<2x37x67xf32>) outs(%19 : tensor<2x37x67xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %s = arith.truncf %cst_3 : f64 to f32
      %r = arith.mulf %in0, %s : f32
      linalg.yield %r : f32
    } -> tensor<2x37x67xf32>
    %21 = tensor.empty() : tensor<2x37x67xf32>
    %22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> ()>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%13, %cst_4, %20 : tensor<37x67xi1>, tensor<f32>, tensor<2x37x67xf32>) outs(%21 : tensor<2x37x67xf32>) {
    ^bb0(%in0: i1, %in1: f32, %in2: f32, %out: f32):
      %r = arith.select %in0, %in1, %in2 : f32
      linalg.yield %r : f32
    } -> tensor<2x37x67xf32>
    %23 = tensor.empty() : tensor<2x37xi64>
    %24 = linalg.fill ins(%cst_5 : i64) outs(%23 : tensor<2x37xi64>) -> tensor<2x37xi64>
    %25 = tensor.empty() : tensor<2x37xf32>
    %26 = linalg.fill ins(%cst_6 : f32) outs(%25 : tensor<2x37xf32>) -> tensor<2x37xf32>
    %27:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%22 : tensor<2x37x67xf32>) outs(%26, %24 : tensor<2x37xf32>, tensor<2x37xi64>) {
    ^bb0(%in: f32, %out: f32, %out_i: i64):
      %i = linalg.index 2 : index
      %j = arith.index_cast %i : index to i64
      %m = arith.maximumf %in, %out : f32
      %c = arith.cmpf ogt, %in, %out : f32
      %k = arith.select %c, %j, %out_i : i64
      linalg.yield %m, %k : f32, i64
    } -> (tensor<2x37xf32>, tensor<2x37xi64>)
    %28 = tensor.expand_shape %27#0 [[0], [1, 2]] output_shape [2, 37, 1] : tensor<2x37xf32> into tensor<2x37x1xf32>
    %29 = tensor.empty() : tensor<2x37x67xf32>
    %30 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22, %28 : tensor<2x37x67xf32>, tensor<2x37x1xf32>) outs(%29 : tensor<2x37x67xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.subf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<2x37x67xf32>
    %31 = tensor.empty() : tensor<2x37x67xf32>
    %32 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%30 : tensor<2x37x67xf32>) outs(%31 : tensor<2x37x67xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = math.exp %in0 : f32
      linalg.yield %r : f32
    } -> tensor<2x37x67xf32>
    %33 = tensor.empty() : tensor<2x37x1xf32>
    %34 = linalg.fill ins(%cst_2 : f32) outs(%33 : tensor<2x37x1xf32>) -> tensor<2x37x1xf32>
    %35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%32 : tensor<2x37x67xf32>) outs(%34 : tensor<2x37x1xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %r = arith.addf %in0, %out : f32
      linalg.yield %r : f32
    } -> tensor<2x37x1xf32>
    %36 = tensor.empty() : tensor<2x37x67xf32>
    %37 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, 0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%32, %35 : tensor<2x37x67xf32>, tensor<2x37x1xf32>) outs(%36 : tensor<2x37x67xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %r = arith.divf %in0, %in1 : f32
      linalg.yield %r : f32
    } -> tensor<2x37x67xf32>
    %38 = tensor.empty() : tensor<2x37x16xf32>
    %39 = linalg.fill ins(%cst_2 : f32) outs(%38 : tensor<2x37x16xf32>) -> tensor<2x37x16xf32>
    %40 = linalg.batch_matmul ins(%37, %arg2 : tensor<2x37x67xf32>, tensor<2x67x16xf32>) outs(%39 : tensor<2x37x16xf32>) -> tensor<2x37x16xf32>
    return %40 : tensor<2x37x16xf32>
  }
}
