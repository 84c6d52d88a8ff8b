// For a GPU the branch became one kernel with its copy in it, which has no lowering there.
func.func @main(%x: tensor<?x4xf32>, %take: i1, %v: f32) -> tensor<?x4xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x4xf32>
  %e = tensor.empty(%n) : tensor<?x4xf32>
  %filled = linalg.fill ins(%v : f32) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %r = scf.if %take -> (tensor<?x4xf32>) {
    %copied = tensor.insert_slice %x into %filled[0, 0] [%n, 4] [1, 1]
        : tensor<?x4xf32> into tensor<?x4xf32>
    %w = tensor.insert %v into %copied[%zero, %zero] : tensor<?x4xf32>
    scf.yield %w : tensor<?x4xf32>
  } else {
    scf.yield %filled : tensor<?x4xf32>
  }
  return %r : tensor<?x4xf32>
}
