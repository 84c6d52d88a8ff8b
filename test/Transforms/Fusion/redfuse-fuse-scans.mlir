// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-fuse | FileCheck %s

#k = affine_map<(b, i) -> (b, i)>
#row = affine_map<(b, i, j) -> (b, i)>
#column = affine_map<(b, i, j) -> (b, j)>
#o = affine_map<(b, i, j) -> (b, i, j)>

// Prefixes are made in order: once, not for each of the other positions.
// CHECK-LABEL: func.func @decays
// CHECK: %[[SUMS:.*]] = redfuse.cascade
// CHECK: redfuse.scan add
// CHECK: = redfuse.cascade {{.*}} ins(%[[SUMS]], %[[SUMS]] :
// CHECK: math.exp
// CHECK-NOT: redfuse.cascade
func.func @decays(%g: tensor<32x4096xf32>) -> tensor<32x4096x4096xf32> {
  %e = tensor.empty() : tensor<32x4096xf32>
  %d = tensor.empty() : tensor<32x4096x4096xf32>
  %sums = redfuse.cascade {indexing_maps = [#k, #k]} ins(%g : tensor<32x4096xf32>) outs(%e : tensor<32x4096xf32>) {
  ^bb0(%x: f32):
    %s = redfuse.scan add %x along 1 : f32
    redfuse.yield %s : f32
  } -> tensor<32x4096xf32>
  %apart = redfuse.cascade {indexing_maps = [#row, #column, #o]} ins(%sums, %sums : tensor<32x4096xf32>, tensor<32x4096xf32>) outs(%d : tensor<32x4096x4096xf32>) {
  ^bb0(%x: f32, %y: f32):
    %a = arith.subf %x, %y : f32
    redfuse.yield %a : f32
  } -> tensor<32x4096x4096xf32>
  %decay = redfuse.cascade {indexing_maps = [#o, #o]} ins(%apart : tensor<32x4096x4096xf32>) outs(%d : tensor<32x4096x4096xf32>) {
  ^bb0(%x: f32):
    %a = math.exp %x : f32
    redfuse.yield %a : f32
  } -> tensor<32x4096x4096xf32>
  return %decay : tensor<32x4096x4096xf32>
}

// What has a point for each prefix is one kernel with them.
// CHECK-LABEL: func.func @same_points
// CHECK: redfuse.scan add
// CHECK-NOT: redfuse.cascade
func.func @same_points(%g: tensor<32x4096xf32>) -> tensor<32x4096xf32> {
  %e = tensor.empty() : tensor<32x4096xf32>
  %sums = redfuse.cascade {indexing_maps = [#k, #k]} ins(%g : tensor<32x4096xf32>) outs(%e : tensor<32x4096xf32>) {
  ^bb0(%x: f32):
    %s = redfuse.scan add %x along 1 : f32
    redfuse.yield %s : f32
  } -> tensor<32x4096xf32>
  %decay = redfuse.cascade {indexing_maps = [#k, #k]} ins(%sums : tensor<32x4096xf32>) outs(%e : tensor<32x4096xf32>) {
  ^bb0(%x: f32):
    %a = math.exp %x : f32
    redfuse.yield %a : f32
  } -> tensor<32x4096xf32>
  return %decay : tensor<32x4096xf32>
}
