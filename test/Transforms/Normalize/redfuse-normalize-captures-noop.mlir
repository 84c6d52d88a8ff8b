// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-normalize-captures | diff %t.before -

#id = affine_map<(d0) -> (d0)>

// A scalar that is an argument, an element of an argument, and one of several of a computed
// tensor, which an op may read at an index of its own.
func.func @others(%x: tensor<8xf32>, %s: f32, %t: tensor<f32>, %i: index) -> tensor<8xf32> {
  %empty = tensor.empty() : tensor<8xf32>
  %element = tensor.extract %t[] : tensor<f32>
  %rows = linalg.exp ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) -> tensor<8xf32>
  %row = tensor.extract %rows[%i] : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %b = arith.addf %a, %s : f32
    %c = arith.addf %b, %element : f32
    %d = arith.addf %c, %row : f32
    linalg.yield %d : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
