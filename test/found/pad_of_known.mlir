// What the pad makes has extents that its type does not say, found when the loop is gone.
func.func @main(%x: tensor<0x2xf32>, %y: tensor<?x?xf32>, %n: index) -> tensor<2xindex> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c0d = tensor.dim %x, %c0 : tensor<0x2xf32>
  %l = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %y) -> (tensor<?x?xf32>) {
    scf.yield %t : tensor<?x?xf32>
  }
  %d = tensor.dim %l, %c1 : tensor<?x?xf32>
  %s = tensor.extract_slice %x[%c0, %c0][%c0d, %d][1, 1] : tensor<0x2xf32> to tensor<?x?xf32>
  %z = arith.constant 1.0 : f32
  %p = tensor.pad %s low[%c1, 0] high[0, %n] {
  ^bb0(%a: index, %b: index):
    tensor.yield %z : f32
  } : tensor<?x?xf32> to tensor<?x?xf32>
  %h = tensor.dim %p, %c0 : tensor<?x?xf32>
  %w = tensor.dim %p, %c1 : tensor<?x?xf32>
  %r = tensor.from_elements %h, %w : tensor<2xindex>
  return %r : tensor<2xindex>
}
