// RUN: redfuse-opt %s -redfuse-plan-registers -redfuse-kernel-to-gpu -split-input-file -verify-diagnostics

func.func @tensors(%x: tensor<8xf32>, %init: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{works on tensors: bufferize first}}
  %0 = redfuse.launch @k ins(%x : tensor<8xf32>) outs(%init : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
redfuse.kernel @k attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<8xf32>, %init: tensor<8xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
       ins(%x : tensor<8xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%e: f32):
    redfuse.yield %e : f32
  } -> tensor<8xf32>
  redfuse.yield %0 : tensor<8xf32>
}
