// One tile is one too many for a destination of no elements. That it has none is found
// by folding, and upstream's verifier takes no such unpack.
func.func @main(%x: tensor<?x1xf32>) -> tensor<?xf32> {
  %one = arith.constant 1 : index
  %less = arith.subi %one, %one : index
  %to = tensor.empty(%less) : tensor<?xf32>
  %tile = tensor.extract_slice %x[0, 0] [1, 1] [1, 1] : tensor<?x1xf32> to tensor<1x1xf32>
  %open = tensor.cast %tile : tensor<1x1xf32> to tensor<?x1xf32>
  %r = linalg.unpack %open inner_dims_pos = [0] inner_tiles = [1] into %to
      : tensor<?x1xf32> -> tensor<?xf32>
  return %r : tensor<?xf32>
}
