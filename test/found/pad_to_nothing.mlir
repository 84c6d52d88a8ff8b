// Rows are padded to what has no elements. That they have no columns the pad's type does not
// tell, and upstream's rewrite of pads takes each extent that is not in the type for a value,
// not for a constant.
func.func @main(%n: index) -> tensor<2xi32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %seven = arith.constant 7 : i32
  %whole = tensor.splat %seven : tensor<0x0xi32>
  %first = arith.minsi %n, %zero : index
  %slice = tensor.extract_slice %whole[%zero, %first] [0, %zero] [1, 2]
      : tensor<0x0xi32> to tensor<0x?xi32>
  %pad = tensor.pad %slice low[2, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %one : i32
  } : tensor<0x?xi32> to tensor<2x?xi32>
  %e = tensor.extract %pad[%zero, %zero] : tensor<2x?xi32>
  %f = tensor.extract %pad[%zero, %zero] : tensor<2x?xi32>
  %both = tensor.from_elements %e, %f : tensor<2xi32>
  return %both : tensor<2xi32>
}
