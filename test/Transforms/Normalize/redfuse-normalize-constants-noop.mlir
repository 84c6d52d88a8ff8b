// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-normalize-constants > %t.after
// RUN: diff %t.before %t.after

#id = affine_map<(i) -> (i)>
#half = affine_map<(i) -> (i floordiv 2)>
#first = affine_map<(i) -> (i, 0)>

// The last number would have to be 10, for the table to be the double of its positions.
func.func @table(%x: tensor<6xi64>) -> tensor<6xi64> {
  %table = arith.constant dense<[0, 2, 4, 6, 8, 11]> : tensor<6xi64>
  %empty = tensor.empty() : tensor<6xi64>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %table : tensor<6xi64>, tensor<6xi64>) outs(%empty : tensor<6xi64>) {
  ^bb0(%a: i64, %b: i64, %o: i64):
    %s = arith.addi %a, %b : i64
    linalg.yield %s : i64
  } -> tensor<6xi64>
  return %r : tensor<6xi64>
}

// The table is read at half of the index of the loop: its positions are those of no loop.
func.func @halves(%x: tensor<6xi64>) -> tensor<6xi64> {
  %table = arith.constant dense<[0, 2, 4]> : tensor<3xi64>
  %empty = tensor.empty() : tensor<6xi64>
  %r = linalg.generic {indexing_maps = [#id, #half, #id], iterator_types = ["parallel"]}
      ins(%x, %table : tensor<6xi64>, tensor<3xi64>) outs(%empty : tensor<6xi64>) {
  ^bb0(%a: i64, %b: i64, %o: i64):
    %s = arith.addi %a, %b : i64
    linalg.yield %s : i64
  } -> tensor<6xi64>
  return %r : tensor<6xi64>
}

// One scalar is written, to the first column alone: a fill would write the other one, too.
func.func @column(%s: f32, %old: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %r = linalg.generic {indexing_maps = [#first], iterator_types = ["parallel"]} outs(%old : tensor<4x2xf32>) {
  ^bb0(%o: f32):
    linalg.yield %s : f32
  } -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// A third is not exact in f32, and is not rounded to the nearest one here.
func.func @rounded() -> f32 {
  %third = arith.constant 0.33333333333333331 : f64
  %r = arith.truncf %third toward_zero : f64 to f32
  return %r : f32
}

// One complex number at all positions: no scalar constant of arith stands for it.
func.func @complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %k = arith.constant dense<(1.0, 2.0)> : tensor<4xcomplex<f32>>
  %e = tensor.empty() : tensor<4xcomplex<f32>>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %k : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) outs(%e : tensor<4xcomplex<f32>>) {
  ^bb0(%a: complex<f32>, %b: complex<f32>, %o: complex<f32>):
    %s = complex.add %a, %b : complex<f32>
    linalg.yield %s : complex<f32>
  } -> tensor<4xcomplex<f32>>
  return %r : tensor<4xcomplex<f32>>
}
