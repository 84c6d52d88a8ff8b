// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-normalize-combiners > %t.after
// RUN: diff %t.before %t.after

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Nothing is declared: what reduces is read from the body where it is needed.
func.func @plain(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x7xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.mulf %acc, %a : f32
    %s = math.absf %m : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// A scan keeps its declaration: redfuse-normalize-scans reads it with the region.
func.func @scan(%x: tensor<5x7xf32>, %o: tensor<5x7xf32>, %last: tensor<5xf32>) -> tensor<5x7xf32> {
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) {redfuse.combiner = {identity = [1.0 : f32]}}
      ins(%x : tensor<5x7xf32>) outs(%o, %last : tensor<5x7xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    %s = math.absf %m : f32
    tm_tensor.yield %s : f32
  } -> tensor<5x7xf32>, tensor<5xf32>
  return %r#0 : tensor<5x7xf32>
}

// What a declaration becomes: the attribute is gone, and nothing is left to do.
func.func @combined(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<5x7xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %c = redfuse.combine %acc, %a {identities = [1.0 : f32]} : (f32, f32) -> f32 {
    ^bb0(%left: f32, %right: f32):
      %m = arith.mulf %left, %right : f32
      %s = math.absf %m : f32
      redfuse.yield %s : f32
    }
    linalg.yield %c : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}
