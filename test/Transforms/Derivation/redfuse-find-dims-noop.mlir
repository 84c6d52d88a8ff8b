// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-find-dims > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// A private function: nobody outside asks for its dims.
func.func private @sums(%x: tensor<8x?xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %s = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x?xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32):
    %l = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<8xf32>
  return %s : tensor<8xf32>
}

// A function of several blocks: a dim is followed through one.
func.func @branches(%x: tensor<8x?xf32>, %c: i1) -> tensor<8x?xf32> {
  cf.cond_br %c, ^bb1(%x : tensor<8x?xf32>), ^bb2
^bb1(%y: tensor<8x?xf32>):
  return %y : tensor<8x?xf32>
^bb2:
  %z = arith.negf %x : tensor<8x?xf32>
  cf.br ^bb1(%z : tensor<8x?xf32>)
}

// A kernel has dims of its own, which its launches know.
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<8x?xf32>, %o: tensor<8xf32>):
  %s = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x?xf32>) outs(%o : tensor<8xf32>) {
  ^bb0(%a: f32):
    %l = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<8xf32>
  redfuse.yield %s : tensor<8xf32>
}
