// Elements that are numbers no memory has bytes for were taken for extents.
#one = affine_map<(i) -> (i)>
func.func @main(%x: index, %at: index)
    -> (tensor<3xindex>, tensor<4xindex>, tensor<2xindex>, tensor<3xindex>, tensor<4xindex>) {
  %two = arith.constant 2 : index
  %low = arith.constant -4503599627370496 : index
  %high = arith.constant 4611686018427387904 : index
  %listed = tensor.from_elements %two, %low, %x : tensor<3xindex>
  %empty = tensor.empty() : tensor<4xindex>
  %filled = linalg.fill ins(%high : index) outs(%empty : tensor<4xindex>) -> tensor<4xindex>
  %put = tensor.insert %low into %filled[%at] : tensor<4xindex>
  %splat = tensor.splat %high : tensor<2xindex>
  %made = tensor.generate {
  ^bb0(%i: index):
    tensor.yield %low : index
  } : tensor<3xindex>
  %yielded = linalg.generic {indexing_maps = [#one], iterator_types = ["parallel"]}
      outs(%empty : tensor<4xindex>) {
  ^bb0(%to: index):
    linalg.yield %high : index
  } -> tensor<4xindex>
  return %listed, %put, %splat, %made, %yielded
      : tensor<3xindex>, tensor<4xindex>, tensor<2xindex>, tensor<3xindex>, tensor<4xindex>
}
