module {
  func.func @main(%arg0: tensor<2x37x16xf32>, %arg1: tensor<2x67x16xf32>, %arg2: tensor<2x67x16xf32>) -> (tensor<2x37x16xf32>) {
    %cst_0 = arith.constant 0.0 : f32
    %cst_1 = arith.constant 0.25 : f64
    %cst_2 = arith.constant 4.204692619390966 : f64
    %cst_3 = arith.constant 1.0 : f32
    %0 = tensor.empty() : tensor<2x16x67xf32>
    %1 = linalg.transpose ins(%arg1 : tensor<2x67x16xf32>) outs(%0 : tensor<2x16x67xf32>) permutation = [0, 2, 1]
    %2 = tensor.empty() : tensor<2x37x67xf32>
    %3 = linalg.fill ins(%cst_0 : f32) outs(%2 : tensor<2x37x67xf32>) -> tensor<2x37x67xf32>
    %4 = linalg.batch_matmul ins(%arg0, %1 : tensor<2x37x16xf32>, tensor<2x16x67xf32>) outs(%3 : tensor<2x37x67xf32>) -> tensor<2x37x67xf32>
    %5 = tensor.empty() : tensor<2x37x67xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%4 : tensor<2x37x67xf32>) outs(%5 : tensor<2x37x67xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %s = arith.truncf %cst_1 : f64 to f32
      %r = arith.mulf %in0, %s : f32
      linalg.yield %r : f32
    } -> tensor<2x37x67xf32>
    %7 = tensor.empty() : tensor<2x37x67xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6 : tensor<2x37x67xf32>) outs(%7 : tensor<2x37x67xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %s = arith.truncf %cst_2 : f64 to f32
      %r = arith.subf %in0, %s : f32
      linalg.yield %r : f32
    } -> tensor<2x37x67xf32>
    %9 = tensor.empty() : tensor<2x37x67xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8 : tensor<2x37x67xf32>) outs(%9 : tensor<2x37x67xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %n = arith.negf %in0 : f32
      %e = math.exp %n : f32
      %d = arith.addf %e, %cst_3 : f32
      %r = arith.divf %cst_3, %d : f32
      linalg.yield %r : f32
    } -> tensor<2x37x67xf32>
    %11 = tensor.empty() : tensor<2x37x16xf32>
    %12 = linalg.fill ins(%cst_0 : f32) outs(%11 : tensor<2x37x16xf32>) -> tensor<2x37x16xf32>
    %13 = linalg.batch_matmul ins(%10, %arg2 : tensor<2x37x67xf32>, tensor<2x67x16xf32>) outs(%12 : tensor<2x37x16xf32>) -> tensor<2x37x16xf32>
    return %13 : tensor<2x37x16xf32>
  }
}
