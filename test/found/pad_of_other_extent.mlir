// The pad is taken for one of four elements, as that is what its result is cast to,
// and has as many as it has until that is checked.
func.func @main(%x: tensor<?xf64>, %n: index) -> tensor<4xf64> {
  %v = arith.constant 1.0 : f64
  %padded = tensor.pad %x low[%n] high[1] {
  ^bb0(%i: index):
    tensor.yield %v : f64
  } : tensor<?xf64> to tensor<?xf64>
  %r = tensor.cast %padded : tensor<?xf64> to tensor<4xf64>
  return %r : tensor<4xf64>
}
