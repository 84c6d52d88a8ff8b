// RUN: redfuse-opt %s -redfuse-kernel-to-cpu -split-input-file -verify-diagnostics

#x = affine_map<(i) -> (i)>
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<24xf32>, %o: tensor<24xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<24xf32>) outs(%o : tensor<24xf32>) {
  ^bb0(%a: f32):
    redfuse.yield %a : f32
  } -> tensor<24xf32>
  redfuse.yield %r : tensor<24xf32>
}
func.func @tensors(%x: tensor<24xf32>, %o: tensor<24xf32>) -> tensor<24xf32> {
  // expected-error @below {{works on tensors: bufferize first}}
  %r = redfuse.launch @k ins(%x : tensor<24xf32>) outs(%o : tensor<24xf32>) -> tensor<24xf32>
  return %r : tensor<24xf32>
}

// -----

// expected-error @below {{has no cascade, fold or finalize to generate code for}}
redfuse.kernel @nothing attributes {num_inputs = 0 : i64} {
^bb0(%o: tensor<24xf32>):
  redfuse.yield %o : tensor<24xf32>
}
func.func @main(%o: memref<24xf32>) {
  redfuse.launch @nothing outs(%o : memref<24xf32>)
  return
}
