// The pad's elements are read at row 0 of what has no rows. As it was asserted that each
// is there, they were read from a slice of it, which upstream's verifier refused.
func.func @main(%x: tensor<0x5xf32>, %n: index) -> tensor<?x?xi32> {
  %two = arith.constant 2 : i32
  %five = arith.constant 5 : index
  %columns = arith.addi %n, %five : index
  %start = tensor.splat %two[%columns] : tensor<0x?xi32>
  %y = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<0x5xf32>) outs(%start : tensor<0x?xi32>) {
  ^bb0(%v: f32, %o: i32):
    %m = arith.index_castui %n : index to i32
    linalg.yield %m : i32
  } -> tensor<0x?xi32>
  %pad = tensor.pad %start low[1, 2] high[%n, 1] {
  ^bb0(%i: index, %j: index):
    %four = arith.constant 4 : index
    %e = tensor.extract %y[%i, %four] : tensor<0x?xi32>
    tensor.yield %e : i32
  } : tensor<0x?xi32> to tensor<?x?xi32>
  return %pad : tensor<?x?xi32>
}
