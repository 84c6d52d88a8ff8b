// softmax(q k^T / 8) v for one query of 8 heads, and as many keys as there are. The number of keys is
// open, so that `exe.finalize` may be asked at any length.

#q = affine_map<(h, j, k) -> (h, k)>
#k = affine_map<(h, j, k) -> (h, j, k)>
#s = affine_map<(h, j, k) -> (h, j)>
#x = affine_map<(h, j) -> (h, j)>
#r = affine_map<(h, j) -> (h)>
#w = affine_map<(h, j, d) -> (h, j)>
#v = affine_map<(h, j, d) -> (h, j, d)>
#o = affine_map<(h, j, d) -> (h, d)>
module {
  func.func @main(%q: tensor<8x64xf32>, %k: tensor<8x?x64xf32>, %v: tensor<8x?x64xf32>) -> tensor<8x64xf32> {
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %low = arith.constant 0xFF800000 : f32
    %scale = arith.constant 0.125 : f32
    %n = tensor.dim %k, %c1 : tensor<8x?x64xf32>
    %wide = tensor.empty(%n) : tensor<8x?xf32>
    %row = tensor.empty() : tensor<8xf32>
    %wide0 = linalg.fill ins(%zero : f32) outs(%wide : tensor<8x?xf32>) -> tensor<8x?xf32>
    %row0 = linalg.fill ins(%zero : f32) outs(%row : tensor<8xf32>) -> tensor<8xf32>
    %low0 = linalg.fill ins(%low : f32) outs(%row : tensor<8xf32>) -> tensor<8xf32>
    %out = tensor.empty() : tensor<8x64xf32>
    %out0 = linalg.fill ins(%zero : f32) outs(%out : tensor<8x64xf32>) -> tensor<8x64xf32>
    %qk = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%q, %k : tensor<8x64xf32>, tensor<8x?x64xf32>) outs(%wide0 : tensor<8x?xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %p = arith.mulf %a, %b : f32
      %t = arith.addf %p, %acc : f32
      linalg.yield %t : f32
    } -> tensor<8x?xf32>
    %s = linalg.generic {indexing_maps = [#x, #x], iterator_types = ["parallel", "parallel"]}
        ins(%qk : tensor<8x?xf32>) outs(%wide : tensor<8x?xf32>) {
    ^bb0(%a: f32, %b: f32):
      %t = arith.mulf %a, %scale : f32
      linalg.yield %t : f32
    } -> tensor<8x?xf32>
    %m = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "reduction"]}
        ins(%s : tensor<8x?xf32>) outs(%low0 : tensor<8xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %t = arith.maximumf %a, %acc : f32
      linalg.yield %t : f32
    } -> tensor<8xf32>
    %e = linalg.generic {indexing_maps = [#x, #r, #x], iterator_types = ["parallel", "parallel"]}
        ins(%s, %m : tensor<8x?xf32>, tensor<8xf32>) outs(%wide : tensor<8x?xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %d = arith.subf %a, %b : f32
      %t = math.exp %d : f32
      linalg.yield %t : f32
    } -> tensor<8x?xf32>
    %l = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "reduction"]}
        ins(%e : tensor<8x?xf32>) outs(%row0 : tensor<8xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %t = arith.addf %a, %acc : f32
      linalg.yield %t : f32
    } -> tensor<8xf32>
    %p = linalg.generic {indexing_maps = [#x, #r, #x], iterator_types = ["parallel", "parallel"]}
        ins(%e, %l : tensor<8x?xf32>, tensor<8xf32>) outs(%wide : tensor<8x?xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %t = arith.divf %a, %b : f32
      linalg.yield %t : f32
    } -> tensor<8x?xf32>
    %o = linalg.generic {indexing_maps = [#w, #v, #o], iterator_types = ["parallel", "reduction", "parallel"]}
        ins(%p, %v : tensor<8x?xf32>, tensor<8x?x64xf32>) outs(%out0 : tensor<8x64xf32>) {
    ^bb0(%a: f32, %b: f32, %acc: f32):
      %d = arith.mulf %a, %b : f32
      %t = arith.addf %d, %acc : f32
      linalg.yield %t : f32
    } -> tensor<8x64xf32>
    return %o : tensor<8x64xf32>
  }
}
