// The inner loop hands on what the outer one carries, and the outer one what the inner
// one has: whose extents these are was followed round and round.
func.func @main(%x: tensor<?xindex>, %n: index) -> tensor<?xindex> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %outer = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (tensor<?xindex>) {
    %inner = scf.for %j = %zero to %n step %one iter_args(%b = %x) -> (tensor<?xindex>) {
      %w = tensor.insert %j into %a[%zero] : tensor<?xindex>
      scf.yield %w : tensor<?xindex>
    }
    scf.yield %inner : tensor<?xindex>
  }
  %first = tensor.extract %outer[%zero] : tensor<?xindex>
  %r = tensor.insert %first into %outer[%zero] : tensor<?xindex>
  return %r : tensor<?xindex>
}
