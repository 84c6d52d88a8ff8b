// The slice begins at -5, which is known: never reached, but compiled.
func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %less = arith.constant -2 : index
  %far = arith.constant -3 : index
  %at = arith.addi %less, %far : index
  %rows = tensor.dim %x, %zero : tensor<?x?xf32>
  %e = tensor.empty(%rows) : tensor<3x?xf32>
  %c = arith.constant 2.0 : f32
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<3x?xf32>) -> tensor<3x?xf32>
  %r = tensor.extract_slice %f[0, %at] [%one, %rows] [2, 2]
      : tensor<3x?xf32> to tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
