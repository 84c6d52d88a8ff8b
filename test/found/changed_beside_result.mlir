// The first result was computed in the caller's memory, in which the second one was
// changed then, too, and both were what the first is.
func.func @main(%x: tensor<f32>) -> (tensor<1x3xf32>, tensor<3xf32>) {
  %one = arith.constant 1 : index
  %v = arith.constant 3.0 : f32
  %all = tensor.generate {
  ^bb0(%i: index):
    %e = tensor.extract %x[] : tensor<f32>
    tensor.yield %e : f32
  } : tensor<3xf32>
  %row = tensor.expand_shape %all [[0, 1]] output_shape [1, 3] : tensor<3xf32> into tensor<1x3xf32>
  %changed = tensor.insert %v into %all[%one] : tensor<3xf32>
  return %row, %changed : tensor<1x3xf32>, tensor<3xf32>
}
