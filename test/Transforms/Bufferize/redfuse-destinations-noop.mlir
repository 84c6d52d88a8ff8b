// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-destinations | diff %t.before -

// Functions that nobody calls from outside return what they return.
func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
