// A softmax of rows that are longer than registers hold: the program of walkthrough.md.
func.func @softmax(%x: tensor<4096x65536xf32>) -> tensor<4096x65536xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %rows = tensor.empty() : tensor<4096xf32>
  %all = tensor.empty() : tensor<4096x65536xf32>
  %m0 = linalg.fill ins(%lowest : f32) outs(%rows : tensor<4096xf32>) -> tensor<4096xf32>
  %m = linalg.reduce {arith.maximumf} ins(%x : tensor<4096x65536xf32>) outs(%m0 : tensor<4096xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4096xf32>) outs(%all : tensor<4096x65536xf32>) dimensions = [1]
  %d = linalg.sub ins(%x, %mb : tensor<4096x65536xf32>, tensor<4096x65536xf32>)
      outs(%all : tensor<4096x65536xf32>) -> tensor<4096x65536xf32>
  %e = linalg.exp ins(%d : tensor<4096x65536xf32>) outs(%all : tensor<4096x65536xf32>) -> tensor<4096x65536xf32>
  %s0 = linalg.fill ins(%zero : f32) outs(%rows : tensor<4096xf32>) -> tensor<4096xf32>
  %s = linalg.reduce {arith.addf} ins(%e : tensor<4096x65536xf32>) outs(%s0 : tensor<4096xf32>) dimensions = [1]
  %sb = linalg.broadcast ins(%s : tensor<4096xf32>) outs(%all : tensor<4096x65536xf32>) dimensions = [1]
  %y = linalg.div ins(%e, %sb : tensor<4096x65536xf32>, tensor<4096x65536xf32>)
      outs(%all : tensor<4096x65536xf32>) -> tensor<4096x65536xf32>
  return %y : tensor<4096x65536xf32>
}
