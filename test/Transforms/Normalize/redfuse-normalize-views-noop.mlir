// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-normalize-views > %t.after
// RUN: diff %t.before %t.after

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#added = affine_map<(i, j) -> (0, i, j)>

// Where the slice begins is not known: a map has no place for it.
func.func @start(%x: tensor<6x9xf32>, %at: index, %o: tensor<6x3xf32>) -> tensor<6x3xf32> {
  %s = tensor.extract_slice %x[0, %at] [6, 3] [1, 1] : tensor<6x9xf32> to tensor<6x3xf32>
  %r = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<6x3xf32>) outs(%o : tensor<6x3xf32>) {
  ^bb0(%a: f32, %u: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<6x3xf32>
  return %r : tensor<6x3xf32>
}

// Only the copy tells how many times each element is added: its source has no such dim.
func.func @repeated(%x: tensor<6xf32>, %init: tensor<6xf32>) -> tensor<6xf32> {
  %empty = tensor.empty() : tensor<6x3xf32>
  %c = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6xf32>) outs(%empty : tensor<6x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<6x3xf32>
  %r = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]}
      ins(%c : tensor<6x3xf32>) outs(%init : tensor<6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// A copy to another type is no view.
func.func @widened(%x: tensor<6x9xf16>, %o: tensor<6x9xf32>) -> tensor<6x9xf32> {
  %empty = tensor.empty() : tensor<6x9xf32>
  %c = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x9xf16>) outs(%empty : tensor<6x9xf32>) {
  ^bb0(%a: f16, %u: f32):
    %w = arith.extf %a : f16 to f32
    linalg.yield %w : f32
  } -> tensor<6x9xf32>
  %r = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%c : tensor<6x9xf32>) outs(%o : tensor<6x9xf32>) {
  ^bb0(%a: f32, %u: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<6x9xf32>
  return %r : tensor<6x9xf32>
}

// The unit dim is added to an argument: a view of that costs nothing, and there is no producer to fuse with.
func.func @argument(%x: tensor<6x9xf32>, %o: tensor<6x9xf32>) -> tensor<6x9xf32> {
  %t = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 6, 9] : tensor<6x9xf32> into tensor<1x6x9xf32>
  %r = linalg.generic {indexing_maps = [#added, #all], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<1x6x9xf32>) outs(%o : tensor<6x9xf32>) {
  ^bb0(%a: f32, %u: f32):
    %e = math.exp %a : f32
    linalg.yield %e : f32
  } -> tensor<6x9xf32>
  return %r : tensor<6x9xf32>
}
