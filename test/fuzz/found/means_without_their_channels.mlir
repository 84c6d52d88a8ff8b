// Values that were multiplied by a reduced value lose the sum over their channels, and are added up over positions: the
// sum over channels is exchanged with that over positions, beside a term that has channels.
#x = affine_map<(n, c, s) -> (n, c, s)>
#p = affine_map<(n, c, s) -> (n, s)>
#r = affine_map<(n, c, s) -> (n, c)>
func.func @main(%x: tensor<3x6x?xf32>) -> tensor<3x6xf32> {
  %c2 = arith.constant 2 : index
  %l = tensor.dim %x, %c2 : tensor<3x6x?xf32>
  %zero = arith.constant 0.0 : f32
  %g = tensor.empty() : tensor<3x6xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<3x6xf32>) -> tensor<3x6xf32>
  %m = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : tensor<3x6x?xf32>) outs(%h : tensor<3x6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<3x6xf32>
  %d = tensor.empty(%l) : tensor<3x6x?xf32>
  %y = linalg.generic {indexing_maps = [#x, #r, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %m : tensor<3x6x?xf32>, tensor<3x6xf32>) outs(%d : tensor<3x6x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.mulf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<3x6x?xf32>
  %e = tensor.empty(%l) : tensor<3x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x?xf32>) -> tensor<3x?xf32>
  %s = linalg.generic {indexing_maps = [#x, #p], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%y : tensor<3x6x?xf32>) outs(%f : tensor<3x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<3x?xf32>
  %z = linalg.generic {indexing_maps = [#x, #p, #x], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y, %s : tensor<3x6x?xf32>, tensor<3x?xf32>) outs(%d : tensor<3x6x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %t = arith.subf %a, %b : f32
    linalg.yield %t : f32
  } -> tensor<3x6x?xf32>
  %r = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%z : tensor<3x6x?xf32>) outs(%h : tensor<3x6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = arith.addf %a, %o : f32
    linalg.yield %t : f32
  } -> tensor<3x6xf32>
  return %r : tensor<3x6xf32>
}
