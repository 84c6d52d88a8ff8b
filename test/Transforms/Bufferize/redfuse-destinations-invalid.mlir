// RUN: redfuse-opt %s -redfuse-destinations -verify-diagnostics

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// expected-error@below {{'main__shapes' is what the extents of the results of 'main' are called; expected another name}}
func.func private @main__shapes(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
