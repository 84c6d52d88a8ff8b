// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-fuse -split-input-file | FileCheck %s

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// A product of f32 is made by matrix instructions where it is alone: no other reduction
// joins it.
// CHECK-LABEL: func.func @alone
// CHECK: redfuse.cascade
// CHECK: reduce add
// CHECK: } -> tensor<2048x4096xf32>
// CHECK: redfuse.cascade
// CHECK: reduce maximumf
func.func @alone(%a: tensor<2048x1024xf32>, %b: tensor<1024x4096xf32>) -> tensor<2048xf32> {
  %e = tensor.empty() : tensor<2048x4096xf32>
  %f = tensor.empty() : tensor<2048xf32>
  %p = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<2048x1024xf32>, tensor<1024x4096xf32>) outs(%e : tensor<2048x4096xf32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<2048x4096xf32>
  %q = redfuse.cascade {indexing_maps = [#x, #r]} ins(%p : tensor<2048x4096xf32>) outs(%f : tensor<2048xf32>) {
  ^bb0(%x: f32):
    %s = redfuse.reduce maximumf %x over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<2048xf32>
  return %q : tensor<2048xf32>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#x = affine_map<(i, j) -> (i, j)>

// What follows element by element joins it.
// CHECK-LABEL: func.func @epilogue
// CHECK: redfuse.cascade
// CHECK: reduce add
// CHECK: math.absf
// CHECK-NOT: redfuse.cascade
func.func @epilogue(%a: tensor<2048x1024xf32>, %b: tensor<1024x4096xf32>) -> tensor<2048x4096xf32> {
  %e = tensor.empty() : tensor<2048x4096xf32>
  %p = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<2048x1024xf32>, tensor<1024x4096xf32>) outs(%e : tensor<2048x4096xf32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<2048x4096xf32>
  %q = redfuse.cascade {indexing_maps = [#x, #x]} ins(%p : tensor<2048x4096xf32>) outs(%e : tensor<2048x4096xf32>) {
  ^bb0(%x: f32):
    %s = math.absf %x : f32
    redfuse.yield %s : f32
  } -> tensor<2048x4096xf32>
  return %q : tensor<2048x4096xf32>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// A short sum may be that of attention's scores, which stay with what is made of them.
// CHECK-LABEL: func.func @short
// CHECK: redfuse.cascade
// CHECK: reduce add
// CHECK: reduce maximumf
// CHECK-NOT: redfuse.cascade
func.func @short(%a: tensor<2048x64xf32>, %b: tensor<64x4096xf32>) -> tensor<2048xf32> {
  %e = tensor.empty() : tensor<2048x4096xf32>
  %f = tensor.empty() : tensor<2048xf32>
  %p = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<2048x64xf32>, tensor<64x4096xf32>) outs(%e : tensor<2048x4096xf32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<2048x4096xf32>
  %q = redfuse.cascade {indexing_maps = [#x, #r]} ins(%p : tensor<2048x4096xf32>) outs(%f : tensor<2048xf32>) {
  ^bb0(%x: f32):
    %s = redfuse.reduce maximumf %x over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<2048xf32>
  return %q : tensor<2048xf32>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>

// Few rows are no reason: each block of columns of the second layer would compute the
// first again.
// CHECK-LABEL: func.func @layers
// CHECK: redfuse.cascade
// CHECK: reduce add
// CHECK: } -> tensor<128x4096xf32>
// CHECK: redfuse.cascade
// CHECK: reduce add
// CHECK: } -> tensor<128x2048xf32>
func.func @layers(%a: tensor<128x1024xf32>, %b: tensor<1024x4096xf32>, %c: tensor<4096x2048xf32>) -> tensor<128x2048xf32> {
  %e = tensor.empty() : tensor<128x4096xf32>
  %f = tensor.empty() : tensor<128x2048xf32>
  %p = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<128x1024xf32>, tensor<1024x4096xf32>) outs(%e : tensor<128x4096xf32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<128x4096xf32>
  %q = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%p, %c : tensor<128x4096xf32>, tensor<4096x2048xf32>) outs(%f : tensor<128x2048xf32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<128x2048xf32>
  return %q : tensor<128x2048xf32>
}
