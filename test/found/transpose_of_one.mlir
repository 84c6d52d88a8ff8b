// MLIR asserts that a permutation is of something, while it verifies what it parsed.
func.func @main(%a: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<f32>
  %t = linalg.transpose ins(%a : tensor<f32>) outs(%e : tensor<f32>) permutation = []
  return %t : tensor<f32>
}
