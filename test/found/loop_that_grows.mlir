// What the loop carries has other extents after its first round. Upstream's folding of
// casts gave every round those that it begins with.
func.func @main(%x: tensor<4xf32>, %y: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %v = arith.constant 2.0 : f32
  %start = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%t = %start) -> (tensor<?xf32>) {
    %more = tensor.pad %y low[1] high[0] {
    ^bb0(%k: index):
      tensor.yield %v : f32
    } : tensor<?xf32> to tensor<?xf32>
    %first = tensor.extract %t[%zero] : tensor<?xf32>
    %next = tensor.insert %first into %more[%zero] : tensor<?xf32>
    scf.yield %next : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
