// Loops over two arguments become one: a map of the first and a variance of the second. Streamed,
// both come in chunks, though the reduction reads one of them alone.
#v = affine_map<(i) -> (i)>
#z = affine_map<(i) -> ()>
func.func @main(%a: tensor<11xf32>, %b: tensor<11xf32>) -> (tensor<f32>, tensor<11xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 11.0 : f32
  %ea = tensor.empty() : tensor<11xf32>
  %index = linalg.generic {indexing_maps = [#v], iterator_types = ["parallel"]}
      outs(%ea : tensor<11xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    %k = arith.sitofp %j : i64 to f32
    linalg.yield %k : f32
  } -> tensor<11xf32>
  %map = linalg.generic {indexing_maps = [#v, #v, #v], iterator_types = ["parallel"]}
      ins(%a, %index : tensor<11xf32>, tensor<11xf32>) outs(%ea : tensor<11xf32>) {
  ^bb0(%x: f32, %k: f32, %o: f32):
    %r = arith.mulf %x, %k : f32
    linalg.yield %r : f32
  } -> tensor<11xf32>
  %e = tensor.empty() : tensor<f32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [#v, #v, #z], iterator_types = ["reduction"]}
      ins(%b, %index : tensor<11xf32>, tensor<11xf32>) outs(%f0 : tensor<f32>) {
  ^bb0(%x: f32, %k: f32, %h: f32):
    %w = arith.mulf %x, %k : f32
    %r = arith.addf %w, %h : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %squares = linalg.generic {indexing_maps = [#v, #v, #z, #z], iterator_types = ["reduction"]}
      ins(%b, %index, %sum : tensor<11xf32>, tensor<11xf32>, tensor<f32>) outs(%f0 : tensor<f32>) {
  ^bb0(%x: f32, %k: f32, %s: f32, %h: f32):
    %w = arith.mulf %x, %k : f32
    %m = arith.divf %s, %n : f32
    %d = arith.subf %w, %m : f32
    %p = arith.mulf %d, %d : f32
    %r = arith.addf %p, %h : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %squares, %map : tensor<f32>, tensor<11xf32>
}
