// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-prepack-operands | FileCheck %s
// RUN: redfuse-opt %s -redfuse-prepack-operands | FileCheck %s
// CHECK-NOT: tensor.empty

#x = affine_map<(n, o, p, c, t) -> (n, c, p + t)>
#w = affine_map<(n, o, p, c, t) -> (o, c, t)>
#v = affine_map<(n, o, p, c, t) -> (o, t, c)>
#y = affine_map<(n, o, p, c, t) -> (n, o, p)>

// Too little work for a launch more.
// CHECK-LABEL: func.func @short
func.func @short(%x: tensor<8x64x130xf32>, %w: tensor<64x64x3xf32>, %e: tensor<8x64x128xf32>) -> tensor<8x64x128xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #w, #y]} ins(%x, %w : tensor<8x64x130xf32>, tensor<64x64x3xf32>) outs(%e : tensor<8x64x128xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %p over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<8x64x128xf32>
  return %r : tensor<8x64x128xf32>
}

// Channels are neighbours already.
// CHECK-LABEL: func.func @channels_last
func.func @channels_last(%x: tensor<8x64x8194xf32>, %w: tensor<64x3x64xf32>, %e: tensor<8x64x8192xf32>) -> tensor<8x64x8192xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #v, #y]} ins(%x, %w : tensor<8x64x8194xf32>, tensor<64x3x64xf32>) outs(%e : tensor<8x64x8192xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %p over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<8x64x8192xf32>
  return %r : tensor<8x64x8192xf32>
}

// Extents that are not known.
// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%x: tensor<?x64x8194xf32>, %w: tensor<64x64x3xf32>, %e: tensor<?x64x8192xf32>) -> tensor<?x64x8192xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #w, #y]} ins(%x, %w : tensor<?x64x8194xf32>, tensor<64x64x3xf32>) outs(%e : tensor<?x64x8192xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %p over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<?x64x8192xf32>
  return %r : tensor<?x64x8192xf32>
}

// Another reduction: not a product alone.
// CHECK-LABEL: func.func @another
func.func @another(%x: tensor<8x64x8194xf32>, %w: tensor<64x64x3xf32>, %e: tensor<8x64x8192xf32>) -> tensor<8x64x8192xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #w, #y]} ins(%x, %w : tensor<8x64x8194xf32>, tensor<64x64x3xf32>) outs(%e : tensor<8x64x8192xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = redfuse.reduce maximumf %b over [3, 4] into [1] : f32
    %p = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %p over [3, 4] into [0, 1, 2] : f32
    %d = arith.divf %s, %m : f32
    redfuse.yield %d : f32
  } -> tensor<8x64x8192xf32>
  return %r : tensor<8x64x8192xf32>
}
