// RUN: redfuse-opt %s -redfuse-fuse -split-input-file | FileCheck %s

// Units of warpgroups take 16-bit matrices from memory. A large operand that is computed of two halves of a tensor is
// made first.

#x = affine_map<(i, k) -> (i, k)>
#t = affine_map<(i, k) -> (i, k mod 5760)>
#u = affine_map<(i, k) -> (i, k + 5760)>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (j, k)>
#o = affine_map<(i, j, k) -> (i, j)>

// CHECK-LABEL: func.func @gate
// CHECK: %[[G:.*]] = redfuse.cascade {{.*}} outs(%{{.*}} : tensor<2042x5760xbf16>)
// CHECK: = redfuse.cascade {{.*}} ins(%[[G]],
// CHECK: redfuse.reduce add
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">} {
  func.func @gate(%h: tensor<2042x11520xbf16>, %w: tensor<2304x5760xbf16>) -> tensor<2042x2304xf32> {
    %eg = tensor.empty() : tensor<2042x5760xbf16>
    %eo = tensor.empty() : tensor<2042x2304xf32>
    %g = redfuse.cascade {indexing_maps = [#t, #u, #x]} ins(%h, %h : tensor<2042x11520xbf16>, tensor<2042x11520xbf16>) outs(%eg : tensor<2042x5760xbf16>) {
    ^bb0(%p: bf16, %q: bf16):
      %pw = arith.extf %p : bf16 to f32
      %qw = arith.extf %q : bf16 to f32
      %t = math.tanh %pw : f32
      %m = arith.mulf %t, %qw : f32
      %r = arith.truncf %m : f32 to bf16
      redfuse.yield %r : bf16
    } -> tensor<2042x5760xbf16>
    %y = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%g, %w : tensor<2042x5760xbf16>, tensor<2304x5760xbf16>) outs(%eo : tensor<2042x2304xf32>) {
    ^bb0(%p: bf16, %q: bf16):
      %pw = arith.extf %p : bf16 to f32
      %qw = arith.extf %q : bf16 to f32
      %m = arith.mulf %pw, %qw : f32
      %s = redfuse.reduce add %m over [2] into [0, 1] : f32
      redfuse.yield %s : f32
    } -> tensor<2042x2304xf32>
    return %y : tensor<2042x2304xf32>
  }
}

// -----

// Squares of three differences are summed again for their other reader, rather than stored.

#p = affine_map<(b, i, j, c) -> (b, i, c)>
#q = affine_map<(b, i, j, c) -> (b, j, c)>
#d = affine_map<(b, i, j, c) -> (b, i, j)>
#s = affine_map<(b, i, j) -> (b, i, j)>
#r = affine_map<(b, i, j) -> (b, i)>
#l = affine_map<(b, i, j) -> (b, j)>

// CHECK-LABEL: func.func @nearest
// CHECK-COUNT-2: redfuse.reduce add
// CHECK-NOT: -> tensor<8x2048x1800xf32>
module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 512, l1 = 65536, l2 = 524288, flops = 67000, bandwidth = 3300, launch_ns = 3000, chip = "sm_90a">} {
  func.func @nearest(%x: tensor<8x2048x3xf32>, %y: tensor<8x1800x3xf32>) -> (tensor<8x2048xf32>, tensor<8x1800xf32>) {
    %ed = tensor.empty() : tensor<8x2048x1800xf32>
    %er = tensor.empty() : tensor<8x2048xf32>
    %el = tensor.empty() : tensor<8x1800xf32>
    %0 = redfuse.cascade {indexing_maps = [#p, #q, #d]} ins(%x, %y : tensor<8x2048x3xf32>, tensor<8x1800x3xf32>) outs(%ed : tensor<8x2048x1800xf32>) {
    ^bb0(%a: f32, %b: f32):
      %t = arith.subf %a, %b : f32
      %m = arith.mulf %t, %t : f32
      %n = redfuse.reduce add %m over [3] into [0, 1, 2] : f32
      redfuse.yield %n : f32
    } -> tensor<8x2048x1800xf32>
    %1 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%0 : tensor<8x2048x1800xf32>) outs(%er : tensor<8x2048xf32>) {
    ^bb0(%a: f32):
      %n = redfuse.reduce minimumf %a over [2] into [0, 1] : f32
      redfuse.yield %n : f32
    } -> tensor<8x2048xf32>
    %2 = redfuse.cascade {indexing_maps = [#s, #l]} ins(%0 : tensor<8x2048x1800xf32>) outs(%el : tensor<8x1800xf32>) {
    ^bb0(%a: f32):
      %n = redfuse.reduce minimumf %a over [1] into [0, 2] : f32
      redfuse.yield %n : f32
    } -> tensor<8x1800xf32>
    return %1, %2 : tensor<8x2048xf32>, tensor<8x1800xf32>
  }
}
