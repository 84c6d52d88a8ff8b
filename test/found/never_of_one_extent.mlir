// One row is made of two, behind an assertion that fails: that there is one is found by
// folding, and linalg's verifier asks nothing where another extent is open.
func.func @main(%x: tensor<?x2xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = tensor.dim %x, %zero : tensor<?x2xf32>
  %e = tensor.empty(%n, %one) : tensor<?x?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x2xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%v: f32, %o: f32):
    %w = arith.addf %v, %v : f32
    linalg.yield %w : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
