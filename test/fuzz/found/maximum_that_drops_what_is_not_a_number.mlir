// The row's largest element hands NaN on, which makes every element of the second reduction NaN;
// that one drops them all.
#v = affine_map<(r, i) -> (r, i)>
#s = affine_map<(r, i) -> (r)>
func.func @main(%a: tensor<3x13xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<3xf32>
  %m0 = linalg.fill ins(%low : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %m = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<3x13xf32>) outs(%m0 : tensor<3xf32>) {
  ^bb0(%x: f32, %h: f32):
    %r = arith.maximumf %x, %h : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %k = linalg.generic {indexing_maps = [#v, #s, #s], iterator_types = ["parallel", "reduction"]}
      ins(%a, %m : tensor<3x13xf32>, tensor<3xf32>) outs(%m0 : tensor<3xf32>) {
  ^bb0(%x: f32, %f: f32, %h: f32):
    %p = arith.mulf %x, %x : f32
    %d = math.absf %f : f32
    %v = arith.maximumf %p, %d : f32
    %r = arith.maxnumf %v, %h : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  return %m, %k : tensor<3xf32>, tensor<3xf32>
}
