// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-normalize-gathers | diff %t.before -

#id = affine_map<(d0) -> (d0)>
#row = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>

// The producer folds: an element is more than one evaluation of its body.
func.func @folds(%x: tensor<4x8xf32>, %init: tensor<4xf32>, %i: index) -> f32 {
  %sums = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %r = tensor.extract %sums[%i] : tensor<4xf32>
  return %r : f32
}

// It is told what was there before.
func.func @updates(%x: tensor<4xf32>, %init: tensor<4xf32>, %i: index) -> f32 {
  %sums = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %r = tensor.extract %sums[%i] : tensor<4xf32>
  return %r : f32
}

// Four elements are computed once, and read 32 times.
func.func @repeated(%x: tensor<4xf32>, %at: tensor<32xindex>) -> tensor<32xf32> {
  %four = tensor.empty() : tensor<4xf32>
  %many = tensor.empty() : tensor<32xf32>
  %computed = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%four : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<4xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%at : tensor<32xindex>) outs(%many : tensor<32xf32>) {
  ^bb0(%i: index, %o: f32):
    %e = tensor.extract %computed[%i] : tensor<4xf32>
    linalg.yield %e : f32
  } -> tensor<32xf32>
  return %r : tensor<32xf32>
}
