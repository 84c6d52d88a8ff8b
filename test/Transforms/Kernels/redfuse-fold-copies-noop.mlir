// RUN: redfuse-opt %s -redfuse-fold-copies > %t
// RUN: redfuse-opt %s > %t.same
// RUN: diff %t %t.same

#t = affine_map<(c, o) -> (o, c)>
#id = affine_map<(c, o) -> (c, o)>

// An argument; a splat; what the compiler does not compute as a kernel does; and a sum.
func.func @others(%x: tensor<3x2xf16>) -> (tensor<2x3xf16>, tensor<2x3xf16>, tensor<2x3xf16>, tensor<3xf16>) {
  %e = tensor.empty() : tensor<2x3xf16>
  %f = tensor.empty() : tensor<3xf16>
  %s = arith.constant dense<1.0> : tensor<3x2xf16>
  %w = arith.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf16>
  %p = redfuse.cascade {indexing_maps = [#t, #id]} ins(%x : tensor<3x2xf16>) outs(%e : tensor<2x3xf16>) {
  ^bb0(%a: f16):
    redfuse.yield %a : f16
  } -> tensor<2x3xf16>
  %q = redfuse.cascade {indexing_maps = [#t, #id]} ins(%s : tensor<3x2xf16>) outs(%e : tensor<2x3xf16>) {
  ^bb0(%a: f16):
    redfuse.yield %a : f16
  } -> tensor<2x3xf16>
  %r = redfuse.cascade {indexing_maps = [#t, #id]} ins(%w : tensor<3x2xf16>) outs(%e : tensor<2x3xf16>) {
  ^bb0(%a: f16):
    %n = math.exp %a : f16
    redfuse.yield %n : f16
  } -> tensor<2x3xf16>
  %u = redfuse.cascade {indexing_maps = [#id, affine_map<(c, o) -> (c)>]} ins(%w : tensor<3x2xf16>) outs(%f : tensor<3xf16>) {
  ^bb0(%a: f16):
    %n = redfuse.reduce add %a over [1] into [0] : f16
    redfuse.yield %n : f16
  } -> tensor<3xf16>
  return %p, %q, %r, %u : tensor<2x3xf16>, tensor<2x3xf16>, tensor<2x3xf16>, tensor<3xf16>
}
