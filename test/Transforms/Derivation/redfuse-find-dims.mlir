// RUN: redfuse-opt %s -redfuse-find-dims | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#v = affine_map<(i, j) -> (j)>

// Rows are apart; along the columns, which both arguments have, is a sum.
// CHECK-LABEL: func.func @weighted(
// CHECK-SAME:      redfuse.dims = [
// CHECK-SAME:        {arguments = [array<i64: 0, 0, 1>], kind = "parallel", length = 6 : i64, positional = true, reason = "", results = array<i64: 0>, scales = array<i64: 1>},
// CHECK-SAME:        {arguments = [array<i64: 0, 1, 1>, array<i64: 1, 0, 1>], kind = "reduced", length = -1 : i64, positional = false, reason = "", results = array<i64: -1>, scales = array<i64: 1>}]
func.func @weighted(%x: tensor<6x?xf32>, %w: tensor<?xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %r = redfuse.cascade {indexing_maps = [#x, #v, #r]}
      ins(%x, %w : tensor<6x?xf32>, tensor<?xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = redfuse.index 0
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %p = arith.mulf %a, %b : f32
    %q = arith.mulf %p, %f : f32
    %s = redfuse.reduce add %q over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// CHECK-LABEL: func.func @running(
// CHECK-SAME:        kind = "prefixes"
// CHECK-SAME:        results = array<i64: 0>
#id = affine_map<(i) -> (i)>
func.func @running(%x: tensor<9xf32>) -> tensor<9xf32> {
  %e = tensor.empty() : tensor<9xf32>
  %r = redfuse.cascade {indexing_maps = [#id, #id]}
      ins(%x : tensor<9xf32>) outs(%e : tensor<9xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.scan add %a along 0 : f32
    redfuse.yield %s : f32
  } -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// CHECK-LABEL: func.func @window(
// CHECK-SAME:        kind = "refused", reason = "the streamed dim is read through an expression (a window, a stride or an offset)"
#shifted = affine_map<(i) -> (i + 1)>
func.func @window(%x: tensor<9xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %r = redfuse.cascade {indexing_maps = [#shifted, #id]}
      ins(%x : tensor<9xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32):
    redfuse.yield %a : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
