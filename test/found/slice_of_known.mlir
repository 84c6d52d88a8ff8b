// The last dim of the slice is dropped. When its extents are found to be [1, 3, 1],
// upstream takes the first one for it.
func.func @main(%x: tensor<?x4x?xf64>, %y: tensor<2xf32>) -> tensor<?x?xf64> {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %length = tensor.dim %y, %zero : tensor<2xf32>
  %one = arith.subi %two, %length : index
  %n = arith.maxsi %one, %one : index
  %rows = arith.constant 1 : index
  %three = arith.addi %two, %rows : index
  %r = tensor.extract_slice %x[%n, 0, 0] [%rows, %three, 1] [1, 1, 1]
      : tensor<?x4x?xf64> to tensor<?x?xf64>
  return %r : tensor<?x?xf64>
}
