module {
  func.func @main(%arg0: tensor<?xf32>, %arg1: tensor<?xbf16>, %arg2: tensor<?xi1>, %arg3: tensor<i64>) -> (tensor<f32>) {
    %c0 = arith.constant 0xFF800000 : f32
    %c1 = arith.constant 1.00000000000000000e+00 : f32
    %c2 = arith.constant 0 : index
    %c3 = arith.constant 0.00000000000000000e+00 : f32
    %1 = tensor.empty() : tensor<f32>
    %2 = linalg.fill ins(%c0 : f32) outs(%1 : tensor<f32>) -> tensor<f32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%arg2, %arg1 : tensor<?xi1>, tensor<?xbf16>) outs(%2 : tensor<f32>) {
    ^bb0(%in0: i1, %in1: bf16, %out0: f32):
      %v2 = arith.extf %in1 : bf16 to f32
      %v3 = arith.select %in0, %c1, %v2 : f32
      %r = arith.maximumf %v3, %out0 : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %4 = tensor.dim %arg0, %c2 : tensor<?xf32>
    %5 = tensor.empty(%4) : tensor<?xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg2, %arg1, %3 : tensor<?xi1>, tensor<?xbf16>, tensor<f32>) outs(%5 : tensor<?xf32>) {
    ^bb0(%in0: i1, %in1: bf16, %in2: f32, %out0: f32):
      %v2 = arith.extf %in1 : bf16 to f32
      %v3 = arith.select %in0, %c1, %v2 : f32
      %v5 = arith.subf %v3, %in2 : f32
      linalg.yield %v5 : f32
    } -> tensor<?xf32>
    %7 = tensor.empty(%4) : tensor<?xf32>
    %8 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%arg3, %6 : tensor<i64>, tensor<?xf32>) outs(%7 : tensor<?xf32>) {
    ^bb0(%in0: i64, %in1: f32, %out0: f32):
      %x0 = linalg.index 0 : index
      %y0 = arith.index_cast %x0 : index to i64
      %v2 = arith.cmpi sge, %y0, %in0 : i64
      %v4 = math.exp2 %in1 : f32
      %v5 = arith.select %v2, %c3, %v4 : f32
      linalg.yield %v5 : f32
    } -> tensor<?xf32>
    %9 = tensor.empty(%4) : tensor<?xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%8, %6 : tensor<?xf32>, tensor<?xf32>) outs(%9 : tensor<?xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out0: f32):
      %v2 = arith.mulf %in0, %in1 : f32
      linalg.yield %v2 : f32
    } -> tensor<?xf32>
    %11 = tensor.empty() : tensor<f32>
    %12 = linalg.fill ins(%c3 : f32) outs(%11 : tensor<f32>) -> tensor<f32>
    %13 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%10 : tensor<?xf32>) outs(%12 : tensor<f32>) {
    ^bb0(%in0: f32, %out0: f32):
      %r = arith.addf %in0, %out0 : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    return %13 : tensor<f32>
  }
}

