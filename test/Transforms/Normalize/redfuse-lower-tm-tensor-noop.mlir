// RUN: redfuse-opt %s > %t.before
// RUN: redfuse-opt %s -redfuse-lower-tm-tensor > %t.after
// RUN: diff %t.before %t.after

#x = affine_map<(i) -> (i)>
#p = affine_map<() -> ()>

// A declared reducer in the body of a redfuse op: code for it is generated there.
func.func @declared(%x: tensor<f32>, %y: tensor<f32>, %o: tensor<f32>) -> tensor<f32> {
  %r = redfuse.cascade {indexing_maps = [#p, #p, #p]} ins(%x, %y : tensor<f32>, tensor<f32>)
      outs(%o : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %c = redfuse.combine %a, %b {identities = [0.0 : f32]} : (f32, f32) -> f32 {
    ^bb0(%left: f32, %right: f32):
      %s = arith.addf %left, %right : f32
      redfuse.yield %s : f32
    }
    redfuse.yield %c : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// A scan that was fused: the kernel's walk along the dim makes it.
func.func @fused(%x: tensor<5xf32>, %o: tensor<5xf32>) -> tensor<5xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<5xf32>) outs(%o : tensor<5xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.scan add %a along 0 : f32
    redfuse.yield %s : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// A selection, which has code of its own: no loop sorts its rows here.
func.func @selected(%x: tensor<2x9xf32>, %o: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = redfuse.select ins(%x : tensor<2x9xf32>) values(%o : tensor<2x4xf32>) -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// Attention is products and sums, which redfuse-normalize-generalize has spelled out in front of this.
func.func @attention(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x8xf32>, %o: tensor<4x8xf32>)
    -> tensor<4x8xf32> {
  %r = tm_tensor.attention ins(%q, %k, %v : tensor<4x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
