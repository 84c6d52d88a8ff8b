// RUN: redfuse-opt %s -redfuse-shard-dims=dims=0,0 -split-input-file -verify-diagnostics

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
func.func @reduced(%x: tensor<8xf32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<f32>
  %r = redfuse.cascade {indexing_maps = [#id, #none]}
      ins(%x : tensor<8xf32>) outs(%e : tensor<f32>) {
  ^bb0(%a: f32):
    // expected-error@+1 {{cannot be sharded: a reduction goes along the dim}}
    %s = redfuse.reduce add %a over [0] into [] : f32
    redfuse.yield %s : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// expected-error@+1 {{cannot be sharded: argument 0 has no axis 0}}
func.func @scalar(%x: f32) -> f32 {
  return %x : f32
}

// -----

#id = affine_map<(i) -> (i)>
#shifted = affine_map<(i) -> (i + 1)>
func.func @window(%x: tensor<9xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  // expected-error@+1 {{cannot be sharded: the streamed dim is read through an expression (a window, a stride or an offset)}}
  %r = redfuse.cascade {indexing_maps = [#shifted, #id]}
      ins(%x : tensor<9xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32):
    redfuse.yield %a : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}
