// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-normalize-dead-results > %t.after
// RUN: diff %t.before %t.after

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#id = affine_map<(i) -> (i)>
#first = affine_map<(i) -> (i, 0)>

// The position of the maximum is read as well, by itself.
func.func @both(%x: tensor<4x8xf32>, %m: tensor<4xf32>, %p: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
  %r:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%m, %p : tensor<4xf32>, tensor<4xi64>) {
  ^bb0(%a: f32, %o: f32, %at: i64):
    %j = linalg.index 1 : index
    %n = arith.index_cast %j : index to i64
    %max = arith.maximumf %a, %o : f32
    %larger = arith.cmpf ogt, %a, %o : f32
    %s = arith.select %larger, %n, %at : i64
    linalg.yield %max, %s : f32, i64
  } -> (tensor<4xf32>, tensor<4xi64>)
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xi64>
}

// The maximum is not returned, but the sum is one of the maxima so far.
func.func @needed(%x: tensor<4x8xf32>, %m: tensor<4xf32>, %p: tensor<4xf32>) -> tensor<4xf32> {
  %r:2 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%m, %p : tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32, %u: f32):
    %max = arith.maximumf %a, %o : f32
    %sum = arith.addf %u, %max : f32
    linalg.yield %max, %sum : f32, f32
  } -> (tensor<4xf32>, tensor<4xf32>)
  return %r#1 : tensor<4xf32>
}

// The body does not read its destination, but writes the first column alone: the other one shows through.
func.func @column(%x: tensor<4xf32>, %old: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %r = linalg.generic {indexing_maps = [#id, #first], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%old : tensor<4x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// The input is not read, but only it tells how long the rows are.
func.func @extent(%x: tensor<4x?xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %one = arith.constant 1.0 : f32
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x?xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %one : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}
