// A length that is not known, of dims that are collapsed, divides a sum: which dim of the group has it.
module {
  func.func @main(%arg0: tensor<1x?x1xf32>, %arg1: tensor<?xf32>, %arg2: tensor<1x?xf32>) -> (tensor<1xf32>, tensor<1x1xf32>, tensor<1x1xf32>) {
    %c0 = arith.constant 0.00000000000000000e+00 : f32
    %c1 = arith.constant 1 : index
    %1 = tensor.empty() : tensor<1x1xf32>
    %2 = linalg.fill ins(%c0 : f32) outs(%1 : tensor<1x1xf32>) -> tensor<1x1xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%arg0 : tensor<1x?x1xf32>) outs(%2 : tensor<1x1xf32>) {
    ^bb0(%in0: f32, %out0: f32):
      %r = arith.addf %in0, %out0 : f32
      linalg.yield %r : f32
    } -> tensor<1x1xf32>
    %4 = tensor.dim %arg0, %c1 : tensor<1x?x1xf32>
    %5 = tensor.empty(%4) : tensor<1x?xf32>
    %6 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg2 : tensor<1x?xf32>) outs(%5 : tensor<1x?xf32>) {
    ^bb0(%in0: f32, %out0: f32):
      %v1 = math.exp %in0 : f32
      linalg.yield %v1 : f32
    } -> tensor<1x?xf32>
    %7 = tensor.empty() : tensor<1xf32>
    %8 = linalg.fill ins(%c0 : f32) outs(%7 : tensor<1xf32>) -> tensor<1xf32>
    %9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%6 : tensor<1x?xf32>) outs(%8 : tensor<1xf32>) {
    ^bb0(%in0: f32, %out0: f32):
      %r = arith.addf %in0, %out0 : f32
      linalg.yield %r : f32
    } -> tensor<1xf32>
    %10 = tensor.empty() : tensor<1xf32>
    %11 = linalg.fill ins(%c0 : f32) outs(%10 : tensor<1xf32>) -> tensor<1xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%6, %arg1 : tensor<1x?xf32>, tensor<?xf32>) outs(%11 : tensor<1xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out0: f32):
      %v2 = arith.mulf %in0, %in1 : f32
      %r = arith.addf %v2, %out0 : f32
      linalg.yield %r : f32
    } -> tensor<1xf32>
    %13 = tensor.empty() : tensor<1xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%12, %9 : tensor<1xf32>, tensor<1xf32>) outs(%13 : tensor<1xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out0: f32):
      %v2 = arith.divf %in0, %in1 : f32
      linalg.yield %v2 : f32
    } -> tensor<1xf32>
    %15 = tensor.empty() : tensor<1x1xf32>
    %16 = linalg.fill ins(%c0 : f32) outs(%15 : tensor<1x1xf32>) -> tensor<1x1xf32>
    %17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%arg0 : tensor<1x?x1xf32>) outs(%16 : tensor<1x1xf32>) {
    ^bb0(%in0: f32, %out0: f32):
      %r = arith.addf %in0, %out0 : f32
      linalg.yield %r : f32
    } -> tensor<1x1xf32>
    %18 = tensor.empty() : tensor<1x1xf32>
    %19 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%17 : tensor<1x1xf32>) outs(%18 : tensor<1x1xf32>) {
    ^bb0(%in0: f32, %out0: f32):
      %z1 = arith.index_cast %4 : index to i64
      %s1 = arith.sitofp %z1 : i64 to f32
      %v2 = arith.divf %in0, %s1 : f32
      linalg.yield %v2 : f32
    } -> tensor<1x1xf32>
    %20 = tensor.empty(%4) : tensor<1x?x1xf32>
    %21 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg0, %19 : tensor<1x?x1xf32>, tensor<1x1xf32>) outs(%20 : tensor<1x?x1xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out0: f32):
      %v2 = arith.subf %in0, %in1 : f32
      linalg.yield %v2 : f32
    } -> tensor<1x?x1xf32>
    %22 = tensor.empty(%4) : tensor<1x?x1xf32>
    %23 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%arg1, %14, %21 : tensor<?xf32>, tensor<1xf32>, tensor<1x?x1xf32>) outs(%22 : tensor<1x?x1xf32>) {
    ^bb0(%in0: f32, %in1: f32, %in2: f32, %out0: f32):
      %v2 = arith.subf %in0, %in1 : f32
      %v4 = arith.mulf %v2, %in2 : f32
      linalg.yield %v4 : f32
    } -> tensor<1x?x1xf32>
    %24 = tensor.empty() : tensor<1x1xf32>
    %25 = linalg.fill ins(%c0 : f32) outs(%24 : tensor<1x1xf32>) -> tensor<1x1xf32>
    %26 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d2)>], iterator_types = ["parallel", "reduction", "parallel"]} ins(%23 : tensor<1x?x1xf32>) outs(%25 : tensor<1x1xf32>) {
    ^bb0(%in0: f32, %out0: f32):
      %r = arith.addf %in0, %out0 : f32
      linalg.yield %r : f32
    } -> tensor<1x1xf32>
    %27 = tensor.empty() : tensor<1x1xf32>
    %28 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%26 : tensor<1x1xf32>) outs(%27 : tensor<1x1xf32>) {
    ^bb0(%in0: f32, %out0: f32):
      %z1 = arith.index_cast %4 : index to i64
      %s1 = arith.sitofp %z1 : i64 to f32
      %v2 = arith.divf %in0, %s1 : f32
      linalg.yield %v2 : f32
    } -> tensor<1x1xf32>
    return %14, %28, %3 : tensor<1xf32>, tensor<1x1xf32>, tensor<1x1xf32>
  }
}
