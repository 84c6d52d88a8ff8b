// The larger of numbers alone, from NaN on: of a row of NaN it is NaN, and was -inf.
func.func @main(%x: tensor<?x9xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0 : index
  %nan = arith.constant 0x7FC00000 : f32
  %n = tensor.dim %x, %zero : tensor<?x9xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %start = linalg.fill ins(%nan : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x9xf32>) outs(%start : tensor<?xf32>) {
  ^bb0(%v: f32, %m: f32):
    %larger = arith.maxnumf %v, %m : f32
    linalg.yield %larger : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
