// RUN: redfuse-opt %s -redfuse-fuse | FileCheck %s --check-prefix=PRICED
// RUN: redfuse-opt %s -redfuse-fuse=prices=false | FileCheck %s

// 32 threads of a CPU take two queries of eight heads, and a million keys, in kernels that each
// have blocks enough. A state is of one pass over the keys: what reduces over them is one cascade,
// though scores may still be made by another.

#qk = affine_map<(h, g, j, d) -> (h, g, d)>
#kk = affine_map<(h, g, j, d) -> (h, j, d)>
#ss = affine_map<(h, g, j, d) -> (h, g, j)>
#s = affine_map<(h, g, j) -> (h, g, j)>
#pp = affine_map<(h, g, d, j) -> (h, g, j)>
#vv = affine_map<(h, g, d, j) -> (h, j, d)>
#oo = affine_map<(h, g, d, j) -> (h, g, d)>

// PRICED-LABEL: func.func @decode
// PRICED-COUNT-3: = redfuse.cascade {
// PRICED-NOT: = redfuse.cascade {
// CHECK-LABEL: func.func @decode
// CHECK: = redfuse.cascade {
// CHECK: redfuse.reduce add
// CHECK: = redfuse.cascade {
// CHECK: redfuse.reduce maximumf
// CHECK: redfuse.reduce add
// CHECK: redfuse.reduce add
// CHECK-NOT: = redfuse.cascade {
module attributes {redfuse.target = #redfuse.target<"cpu", units = 32, vector_bits = 512, l1 = 32768, l2 = 1048576, flops = 4096, bandwidth = 640, launch_ns = 2000>} {
  func.func @decode(%q: tensor<8x2x128xf32>, %k: tensor<8x1048576x128xf32>, %v: tensor<8x1048576x128xf32>) -> tensor<8x2x128xf32> {
    %es = tensor.empty() : tensor<8x2x1048576xf32>
    %eo = tensor.empty() : tensor<8x2x128xf32>
    %scores = redfuse.cascade {indexing_maps = [#qk, #kk, #ss]} ins(%q, %k : tensor<8x2x128xf32>, tensor<8x1048576x128xf32>) outs(%es : tensor<8x2x1048576xf32>) {
    ^bb0(%a: f32, %b: f32):
      %m = arith.mulf %a, %b : f32
      %t = redfuse.reduce add %m over [3] into [0, 1, 2] : f32
      redfuse.yield %t : f32
    } -> tensor<8x2x1048576xf32>
    %weights = redfuse.cascade {indexing_maps = [#s, #s]} ins(%scores : tensor<8x2x1048576xf32>) outs(%es : tensor<8x2x1048576xf32>) {
    ^bb0(%a: f32):
      %m = redfuse.reduce maximumf %a over [2] into [0, 1] : f32
      %d = arith.subf %a, %m : f32
      %e = math.exp %d : f32
      %t = redfuse.reduce add %e over [2] into [0, 1] : f32
      %w = arith.divf %e, %t : f32
      redfuse.yield %w : f32
    } -> tensor<8x2x1048576xf32>
    %out = redfuse.cascade {indexing_maps = [#pp, #vv, #oo]} ins(%weights, %v : tensor<8x2x1048576xf32>, tensor<8x1048576x128xf32>) outs(%eo : tensor<8x2x128xf32>) {
    ^bb0(%a: f32, %b: f32):
      %m = arith.mulf %a, %b : f32
      %t = redfuse.reduce add %m over [3] into [0, 1, 2] : f32
      redfuse.yield %t : f32
    } -> tensor<8x2x128xf32>
    return %out : tensor<8x2x128xf32>
  }
}
