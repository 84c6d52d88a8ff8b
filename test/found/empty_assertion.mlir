// The body is executed at no point of an empty tensor: nothing is read there, and
// nothing may fail.
func.func @main(%x: tensor<?xi1>, %start: i64) -> tensor<i64> {
  %e = tensor.empty() : tensor<i64>
  %f = linalg.fill ins(%start : i64) outs(%e : tensor<i64>) -> tensor<i64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<?xi1>) outs(%f : tensor<i64>) {
  ^bb0(%in: i1, %out: i64):
    %c7 = arith.constant 7 : index
    %c3 = arith.constant 3 : index
    %i = arith.minsi %c7, %c3 : index
    %y = tensor.extract %x[%i] : tensor<?xi1>
    %one = arith.constant 1 : i64
    %s = arith.addi %out, %one : i64
    linalg.yield %s : i64
  } -> tensor<i64>
  return %r : tensor<i64>
}
