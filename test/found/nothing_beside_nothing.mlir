// Tensors without elements are put together, padded and collapsed; upstream takes no
// view of a buffer that begins where a dim of it ends.
func.func @main(%x: tensor<0x?xf32>, %y: tensor<2x0x?xf32>, %z: tensor<?x0xf32>)
    -> (tensor<0x?xf32>, tensor<2x?xf32>, tensor<?x2xf32>) {
  %v = arith.constant 1.0 : f32
  %both = tensor.concat dim(0) %x, %x : (tensor<0x?xf32>, tensor<0x?xf32>) -> tensor<0x?xf32>
  %flat = tensor.collapse_shape %y [[0], [1, 2]] : tensor<2x0x?xf32> into tensor<2x?xf32>
  %padded = tensor.pad %z low[0, 2] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %v : f32
  } : tensor<?x0xf32> to tensor<?x2xf32>
  return %both, %flat, %padded : tensor<0x?xf32>, tensor<2x?xf32>, tensor<?x2xf32>
}
