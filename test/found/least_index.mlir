// The least integer is what MLIR writes for an extent that is not known: the row was taken for one
// without a value, and the compiler ended with a segmentation fault.
func.func @main(%x: tensor<4x6xf32>, %take: i1) -> tensor<2x2xf32> {
  %zero = arith.constant 0 : index
  %least = arith.constant -9223372036854775808 : index
  %e = tensor.empty() : tensor<2x2xf32>
  %c = arith.constant 2.0 : f32
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<2x2xf32>) -> tensor<2x2xf32>
  %r = scf.if %take -> (tensor<2x2xf32>) {
    %s = tensor.extract_slice %x[%least, %zero] [2, 2] [1, 1] : tensor<4x6xf32> to tensor<2x2xf32>
    scf.yield %s : tensor<2x2xf32>
  } else {
    scf.yield %f : tensor<2x2xf32>
  }
  return %r : tensor<2x2xf32>
}
