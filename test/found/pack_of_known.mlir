// What is packed has a collapsed dim of unknown extent, which is to be 6: upstream
// tells the padded tensor so, and not what it is collapsed from.
func.func @main(%x: tensor<2x2x?xi8>) -> tensor<1x?x3xi8> {
  %flat = tensor.collapse_shape %x [[0], [1, 2]] : tensor<2x2x?xi8> into tensor<2x?xi8>
  %six = arith.constant 6 : index
  %one = arith.constant 1 : i8
  %empty = tensor.empty(%six) : tensor<1x?x3xi8>
  %r = linalg.pack %flat padding_value(%one : i8) inner_dims_pos = [0] inner_tiles = [3]
      into %empty : tensor<2x?xi8> -> tensor<1x?x3xi8>
  return %r : tensor<1x?x3xi8>
}
