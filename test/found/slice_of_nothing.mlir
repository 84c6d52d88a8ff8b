// A slice without elements of a tensor without elements begins where it ends, and
// upstream takes no such view of a buffer.
func.func @main(%x: tensor<?xindex>, %n: index, %i: index) -> tensor<0xindex> {
  %zero = arith.constant 0 : index
  %e = tensor.empty(%zero) : tensor<2x?xindex>
  %two = linalg.broadcast ins(%x : tensor<?xindex>) outs(%e : tensor<2x?xindex>) dimensions = [0]
  %part = tensor.extract_slice %two[0, %zero] [%n, 0] [1, 2] : tensor<2x?xindex> to tensor<?x0xindex>
  %to = tensor.empty() : tensor<0xindex>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
                       iterator_types = ["parallel"]}
      ins(%x : tensor<?xindex>) outs(%to : tensor<0xindex>) {
  ^bb0(%v: index, %o: index):
    %at = tensor.extract %part[%v, %zero] : tensor<?x0xindex>
    linalg.yield %at : index
  } -> tensor<0xindex>
  return %r : tensor<0xindex>
}
