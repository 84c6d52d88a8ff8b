// The last extent is -99, whatever the argument is: never made, but compiled.
func.func @main(%x: tensor<?x?xf32>, %n: index) -> tensor<?x3x?xf32> {
  %zero = arith.constant 0 : index
  %five = arith.constant 5 : index
  %minus = arith.constant -104 : index
  %rows = tensor.dim %x, %zero : tensor<?x?xf32>
  %least = arith.maxsi %n, %five : index
  %most = arith.minsi %least, %five : index
  %less = arith.addi %most, %minus : index
  %r = tensor.expand_shape %x [[0], [1, 2]] output_shape [%rows, 3, %less]
      : tensor<?x?xf32> into tensor<?x3x?xf32>
  return %r : tensor<?x3x?xf32>
}
