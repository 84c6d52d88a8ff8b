// The last dim of [1, 2, 1] is dropped. Once its offset was known, upstream dropped the
// first one, and made the slice one of [1, 1, 2].
func.func @main(%x: tensor<3x?xf32>) -> tensor<1x2xf32> {
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %n = tensor.dim %x, %one : tensor<3x?xf32>
  %expanded = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 3, %n]
      : tensor<3x?xf32> into tensor<1x3x?xf32>
  %offset = arith.minsi %one, %three : index
  %r = tensor.extract_slice %expanded[0, 1, %offset] [1, 2, 1] [1, 1, 2]
      : tensor<1x3x?xf32> to tensor<1x2xf32>
  return %r : tensor<1x2xf32>
}
