// The largest of a[i] * i * d with d a sum of exponentials: where d is infinite, i = 0 gives NaN.
#v = affine_map<(r, i) -> (r, i)>
#s = affine_map<(r, i) -> (r)>
func.func @main(%a: tensor<3x13xf32>, %b: tensor<3x13xf32>) -> tensor<3xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<3xf32>
  %d0 = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %d = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["parallel", "reduction"]}
      ins(%b : tensor<3x13xf32>) outs(%d0 : tensor<3xf32>) {
  ^bb0(%x: f32, %h: f32):
    %v = math.exp %x : f32
    %r = arith.addf %v, %h : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %m0 = linalg.fill ins(%low : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %m = linalg.generic {indexing_maps = [#v, #s, #s], iterator_types = ["parallel", "reduction"]}
      ins(%a, %d : tensor<3x13xf32>, tensor<3xf32>) outs(%m0 : tensor<3xf32>) {
  ^bb0(%x: f32, %f: f32, %h: f32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %k = arith.sitofp %j : i64 to f32
    %w = arith.mulf %x, %k : f32
    %v = arith.mulf %w, %f : f32
    %r = arith.maximumf %v, %h : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  return %m : tensor<3xf32>
}
