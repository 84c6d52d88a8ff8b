// The least of all groups' elements, each around the mean of its group and by its spread: an
// extremum over two dims of values that depend on a reduction over one of them.
#x = affine_map<(i, g, k) -> (i, g, k)>
#r = affine_map<(i, g, k) -> (i, g)>
#y = affine_map<(i, g, k) -> (i)>
func.func @main(%x: tensor<3x4x48xf32>) -> tensor<3xf32> {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0x7F800000 : f32
  %n = arith.constant 48.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %er = tensor.empty() : tensor<3x4xf32>
  %ey = tensor.empty() : tensor<3xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<3x4xf32>) -> tensor<3x4xf32>
  %zy = linalg.fill ins(%inf : f32) outs(%ey : tensor<3xf32>) -> tensor<3xf32>
  %sum = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<3x4x48xf32>) outs(%zr : tensor<3x4xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %t = arith.addf %acc, %v : f32
    linalg.yield %t : f32
  } -> tensor<3x4xf32>
  %square = linalg.generic {indexing_maps = [#x, #r, #r], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %sum : tensor<3x4x48xf32>, tensor<3x4xf32>) outs(%zr : tensor<3x4xf32>) {
  ^bb0(%v: f32, %s: f32, %acc: f32):
    %m = arith.divf %s, %n : f32
    %d = arith.subf %v, %m : f32
    %q = arith.mulf %d, %d : f32
    %t = arith.addf %acc, %q : f32
    linalg.yield %t : f32
  } -> tensor<3x4xf32>
  %least = linalg.generic {indexing_maps = [#x, #r, #r, #y], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x, %sum, %square : tensor<3x4x48xf32>, tensor<3x4xf32>, tensor<3x4xf32>) outs(%zy : tensor<3xf32>) {
  ^bb0(%v: f32, %s: f32, %q: f32, %acc: f32):
    %m = arith.divf %s, %n : f32
    %d = arith.subf %v, %m : f32
    %w = arith.divf %q, %n : f32
    %p = arith.addf %w, %eps : f32
    %i = math.rsqrt %p : f32
    %z = arith.mulf %d, %i : f32
    %t = arith.minimumf %acc, %z : f32
    linalg.yield %t : f32
  } -> tensor<3xf32>
  return %least : tensor<3xf32>
}
