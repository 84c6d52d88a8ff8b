// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-normalize-reshapes > %t.after
// RUN: diff %t.before %t.after

#id = affine_map<(i, j) -> (i, j)>
#part = affine_map<(i, j) -> (i, j + 8)>

// Only a unit dim is added: moved on, it would be one more loop.
func.func @unit(%x: tensor<6x9xf32>) -> tensor<1x6x9xf32> {
  %empty = tensor.empty() : tensor<6x9xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x9xf32>) outs(%empty : tensor<6x9xf32>) {
  ^bb0(%a: f32, %o: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<6x9xf32>
  %r = tensor.expand_shape %y [[0, 1], [2]] output_shape [1, 6, 9] : tensor<6x9xf32> into tensor<1x6x9xf32>
  return %r : tensor<1x6x9xf32>
}

// It is expanded to extents that may be others than those which were collapsed.
func.func @others(%x: tensor<?x?xf32>, %m: index, %n: index) -> tensor<?x?xf32> {
  %flat = tensor.collapse_shape %x [[0, 1]] : tensor<?x?xf32> into tensor<?xf32>
  %r = tensor.expand_shape %flat [[0, 1]] output_shape [%m, %n] : tensor<?xf32> into tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// The slice is a result as well, as it is.
func.func @shared(%x: tensor<6x9xf32>) -> (tensor<2x3x5xf32>, tensor<6x5xf32>) {
  %s = tensor.extract_slice %x[0, 1] [6, 5] [1, 1] : tensor<6x9xf32> to tensor<6x5xf32>
  %r = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 3, 5] : tensor<6x5xf32> into tensor<2x3x5xf32>
  return %r, %s : tensor<2x3x5xf32>, tensor<6x5xf32>
}

// The copy of a part is a result as well: it is made anyway, and the slice would be one more.
func.func @copied(%x: tensor<3x16xf32>) -> (tensor<3x4x2xf32>, tensor<3x8xf32>) {
  %empty = tensor.empty() : tensor<3x8xf32>
  %c = linalg.generic {indexing_maps = [#part, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<3x16xf32>) outs(%empty : tensor<3x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<3x8xf32>
  %r = tensor.expand_shape %c [[0], [1, 2]] output_shape [3, 4, 2] : tensor<3x8xf32> into tensor<3x4x2xf32>
  return %r, %c : tensor<3x4x2xf32>, tensor<3x8xf32>
}

// Prefixes along a dim that was two go on from one to the other: its loop is not cut.
func.func @scan(%x: tensor<2x30x12xf32>, %s: tensor<12xf32>, %e: tensor<60x12xf32>) -> tensor<60x12xf32> {
  %c = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x30x12xf32> into tensor<60x12xf32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["reduction", "parallel"]} ins(%c : tensor<60x12xf32>) outs(%s, %e : tensor<12xf32>, tensor<60x12xf32>) {
  ^bb0(%a: f32, %t: f32, %o: f32):
    %n = arith.addf %t, %a : f32
    linalg.yield %n, %n : f32, f32
  } -> (tensor<12xf32>, tensor<60x12xf32>)
  return %r#1 : tensor<60x12xf32>
}
