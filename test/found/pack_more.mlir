// More tiles than the source fills are padding. That the source has 4 elements is found
// by folding, and upstream's verifier takes no such pack of known extents.
func.func @main(%four: tensor<4xf32>, %w: f32) -> tensor<?x3xf32> {
  %count = arith.constant 34 : index
  %x = tensor.cast %four : tensor<4xf32> to tensor<?xf32>
  %e = tensor.empty(%count) : tensor<?x3xf32>
  %r = linalg.pack %x padding_value(%w : f32) inner_dims_pos = [0] inner_tiles = [3] into %e
      : tensor<?xf32> -> tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}
