// Two dims of one element, of which the slice keeps one, beside a dim with steps:
// upstream could not tell by the strides which one was dropped, and stopped the process.
func.func @main(%x: tensor<4xf32>, %n: index) -> tensor<?x1xf32> {
  %e = tensor.empty() : tensor<5x1x4xf32>
  %rows = linalg.broadcast ins(%x : tensor<4xf32>) outs(%e : tensor<5x1x4xf32>) dimensions = [0, 1]
  %part = tensor.extract_slice %rows[1, 0, 3] [%n, 1, 1] [2, 1, 1]
      : tensor<5x1x4xf32> to tensor<?x1xf32>
  return %part : tensor<?x1xf32>
}
