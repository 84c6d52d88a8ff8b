// Each row of the result is the sum of the first row of `a`, of which there is none where the
// result has no rows: the sum was taken in front of the loop over rows, and read it.
func.func @main(%a: tensor<?x?xf32>, %b: tensor<?xf32>) -> tensor<?x2xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %b, %c0 : tensor<?xf32>
  %m = tensor.dim %a, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%m) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%x: f32, %y: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %o = tensor.empty(%n) : tensor<?x2xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} outs(%o : tensor<?x2xf32>) {
  ^bb0(%y: f32):
    %q = tensor.extract %s[%c0] : tensor<?xf32>
    linalg.yield %q : f32
  } -> tensor<?x2xf32>
  return %r : tensor<?x2xf32>
}
