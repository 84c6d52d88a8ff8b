// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-split-concats > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Two long parts; a part of open extent; one that is a result as well; a slice of both.
func.func @whole(%x: tensor<4x64xf32>, %y: tensor<4x?xf32>, %b: tensor<4x1xf32>, %e: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4x65xf32>, tensor<4xf32>, tensor<4x2xf32>) {
  %0 = tensor.concat dim(1) %x, %x : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x128xf32>
  %1 = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<4x128xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%u: f32, %o: f32):
    %s = arith.addf %u, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %2 = tensor.concat dim(1) %y, %b : (tensor<4x?xf32>, tensor<4x1xf32>) -> tensor<4x?xf32>
  %3 = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "reduction"]} ins(%2 : tensor<4x?xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%u: f32, %o: f32):
    %s = arith.addf %u, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %4 = tensor.concat dim(1) %x, %b : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x65xf32>
  %5 = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "reduction"]} ins(%4 : tensor<4x65xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%u: f32, %o: f32):
    %s = arith.addf %u, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %6 = tensor.concat dim(1) %b, %x : (tensor<4x1xf32>, tensor<4x64xf32>) -> tensor<4x65xf32>
  %7 = tensor.extract_slice %6[0, 0] [4, 2] [1, 1] : tensor<4x65xf32> to tensor<4x2xf32>
  return %1, %3, %4, %5, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4x65xf32>, tensor<4xf32>, tensor<4x2xf32>
}

// What is sliced is a part of the long tensor, and nothing is reduced.
func.func @sliced_in_part(%x: tensor<4x64xf32>, %s: tensor<4x1xf32>) -> (tensor<4x63xf32>, tensor<4x1xf32>) {
  %all = tensor.concat dim(1) %x, %s : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x65xf32>
  %l = tensor.extract_slice %all[0, 1] [4, 63] [1, 1] : tensor<4x65xf32> to tensor<4x63xf32>
  %e = tensor.extract_slice %all[0, 64] [4, 1] [1, 1] : tensor<4x65xf32> to tensor<4x1xf32>
  return %l, %e : tensor<4x63xf32>, tensor<4x1xf32>
}
