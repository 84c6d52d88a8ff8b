// Rows that are none beside a result that is one: an ordered reduction of each row in vectors.
module {
  func.func @main(%arg0: tensor<0x11xf32>, %arg1: tensor<i64>, %arg2: tensor<0x11xf16>, %arg3: tensor<0x11xf32>) -> (tensor<f32>, tensor<0xf32>, tensor<0x11xf32>, tensor<0x11xf32>) {
    %c0 = arith.constant 0xFF800000 : f32
    %c1 = arith.constant -3.00000000000000000e+00 : f32
    %c2 = arith.constant 2.50000000000000000e-01 : f32
    %c3 = arith.constant 0.00000000000000000e+00 : f32
    %c4 = arith.constant 5 : i64
    %1 = tensor.empty() : tensor<f32>
    %2 = linalg.fill ins(%c0 : f32) outs(%1 : tensor<f32>) -> tensor<f32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%arg1, %arg0 : tensor<i64>, tensor<0x11xf32>) outs(%2 : tensor<f32>) {
    ^bb0(%in0: i64, %in1: f32, %out0: f32):
      %x0 = linalg.index 0 : index
      %y0 = arith.index_cast %x0 : index to i64
      %v2 = arith.cmpi slt, %y0, %in0 : i64
      %v4 = arith.select %v2, %c1, %in1 : f32
      %r = arith.maxnumf %v4, %out0 : f32
      linalg.yield %r : f32
    } -> tensor<f32>
    %4 = tensor.empty() : tensor<0x11xf32>
    %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg2 : tensor<0x11xf16>) outs(%4 : tensor<0x11xf32>) {
    ^bb0(%in0: f16, %out0: f32):
      %v1 = arith.extf %in0 : f16 to f32
      %v2 = math.absf %v1 : f32
      linalg.yield %v2 : f32
    } -> tensor<0x11xf32>
    %6 = tensor.empty() : tensor<0x11xf32>
    %7 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg3 : tensor<0x11xf32>) outs(%6 : tensor<0x11xf32>) {
    ^bb0(%in0: f32, %out0: f32):
      %v1 = arith.mulf %in0, %c2 : f32
      %v2 = math.tanh %v1 : f32
      linalg.yield %v2 : f32
    } -> tensor<0x11xf32>
    %8 = tensor.empty() : tensor<0xf32>
    %9 = linalg.fill ins(%c3 : f32) outs(%8 : tensor<0xf32>) -> tensor<0xf32>
    %10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%7, %5 : tensor<0x11xf32>, tensor<0x11xf32>) outs(%9 : tensor<0xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out0: f32):
      %s_t = arith.mulf %in0, %out0 : f32
      %s_n = arith.subf %in1, %s_t : f32
      linalg.yield %s_n : f32
    } -> tensor<0xf32>
    %11 = tensor.empty() : tensor<0x11xf32>
    %12 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg2 : tensor<0x11xf16>) outs(%11 : tensor<0x11xf32>) {
    ^bb0(%in0: f16, %out0: f32):
      %v1 = arith.extf %in0 : f16 to f32
      %v2 = math.absf %v1 : f32
      linalg.yield %v2 : f32
    } -> tensor<0x11xf32>
    %13 = tensor.empty() : tensor<0x11xf32>
    %14 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0 : tensor<0x11xf32>) outs(%13 : tensor<0x11xf32>) {
    ^bb0(%in0: f32, %out0: f32):
      %v1 = math.tanh %in0 : f32
      linalg.yield %v1 : f32
    } -> tensor<0x11xf32>
    %15 = tensor.empty() : tensor<0xi1>
    %16 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%15 : tensor<0xi1>) {
    ^bb0(%out0: i1):
      %x0 = linalg.index 0 : index
      %y0 = arith.index_cast %x0 : index to i64
      %v1 = arith.cmpi slt, %y0, %c4 : i64
      linalg.yield %v1 : i1
    } -> tensor<0xi1>
    %17 = tensor.empty() : tensor<0x11xf32>
    %18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%16, %14 : tensor<0xi1>, tensor<0x11xf32>) outs(%17 : tensor<0x11xf32>) {
    ^bb0(%in0: i1, %in1: f32, %out0: f32):
      %v2 = arith.select %in0, %c3, %in1 : f32
      linalg.yield %v2 : f32
    } -> tensor<0x11xf32>
    %19 = tensor.empty() : tensor<0xf32>
    %20 = linalg.fill ins(%c3 : f32) outs(%19 : tensor<0xf32>) -> tensor<0xf32>
    %21 = tensor.empty() : tensor<0x11xf32>
    %22:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "reduction"]} ins(%18, %12 : tensor<0x11xf32>, tensor<0x11xf32>) outs(%20, %21 : tensor<0xf32>, tensor<0x11xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out0: f32, %out1: f32):
      %s_t = arith.mulf %out0, %in0 : f32
      %s_n = arith.addf %in1, %s_t : f32
      linalg.yield %s_n, %s_n : f32, f32
    } -> (tensor<0xf32>, tensor<0x11xf32>)
    %23 = tensor.empty() : tensor<0x11xf32>
    %24 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%arg0, %3 : tensor<0x11xf32>, tensor<f32>) outs(%23 : tensor<0x11xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out0: f32):
      %v2 = arith.subf %in0, %in1 : f32
      linalg.yield %v2 : f32
    } -> tensor<0x11xf32>
    return %3, %10, %22#1, %24 : tensor<f32>, tensor<0xf32>, tensor<0x11xf32>, tensor<0x11xf32>
  }
}
