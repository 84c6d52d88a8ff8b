// Nobody reads what the kernel computes, and it was left out with its checks.
func.func @main(%x: tensor<?x4xf32>, %n: index) -> tensor<1xindex> {
  %two = arith.constant 2 : index
  %zero = arith.constant 0 : index
  %g = tensor.generate %n {
  ^bb0(%i: index):
    %many = arith.constant 33 : index
    %k = arith.shrsi %i, %many : index
    %v = tensor.extract %x[%k, %two] : tensor<?x4xf32>
    tensor.yield %v : f32
  } : tensor<?xf32>
  %r = tensor.from_elements %n : tensor<1xindex>
  return %r : tensor<1xindex>
}
