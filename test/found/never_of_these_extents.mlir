// Rows of x and elements of the sums are never as many. Folding found the 4, and
// upstream made a cast of memref<4xindex> to memref<3xindex>.
func.func @main(%x: tensor<3x?xf64>) -> tensor<?xindex> {
  %one = arith.constant 1 : index
  %three = arith.constant 3 : index
  %four = arith.addi %one, %three : index
  %start = tensor.splat %one[%four] : tensor<?xindex>
  %count = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x?xf64>) outs(%start : tensor<?xindex>) {
  ^bb0(%v: f64, %n: index):
    %step = arith.constant 1 : index
    %next = arith.addi %n, %step : index
    linalg.yield %next : index
  } -> tensor<?xindex>
  return %count : tensor<?xindex>
}
