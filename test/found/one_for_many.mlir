// On a GPU each element of the result is a store of the same load: the list of ops was
// walked while the stores were taken out of it.
func.func @main(%x: tensor<3x?xf32>, %n: index) -> tensor<3xf32> {
  %zero = arith.constant 0 : index
  %v = tensor.extract %x[%zero, %n] : tensor<3x?xf32>
  %w = tensor.insert %v into %x[%zero, %zero] : tensor<3x?xf32>
  %first = tensor.extract %w[%zero, %zero] : tensor<3x?xf32>
  %r = tensor.from_elements %first, %first, %first : tensor<3xf32>
  return %r : tensor<3xf32>
}
