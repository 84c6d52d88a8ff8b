// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-expose-state > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// A private function: nobody outside calls it with chunks, though it has a state that could be carried.
func.func private @sums(%x: tensor<8x?xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %s = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x?xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32):
    %l = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// A private function that has no state: no error either, and no branch is taken for granted.
func.func private @broadcast(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?xf32>
  %n = tensor.dim %y, %c0 : tensor<?xf32>
  %same = arith.cmpi eq, %m, %n : index
  %r = scf.if %same -> (tensor<?xf32>) {
    scf.yield %x : tensor<?xf32>
  } else {
    scf.yield %y : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
