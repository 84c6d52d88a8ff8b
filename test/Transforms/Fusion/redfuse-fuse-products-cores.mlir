// RUN: redfuse-opt %s -redfuse-fuse -split-input-file | FileCheck %s

// Cores pack the operands of a product that is alone, and multiply twice as fast: no other reduction
// joins it.

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func.func @alone
// CHECK-SAME:  one kernel would take
// CHECK: redfuse.cascade
// CHECK: reduce add
// CHECK: redfuse.cascade
// CHECK: reduce maximumf
func.func @alone(%a: tensor<256x512xf32>, %b: tensor<512x1024xf32>) -> tensor<256xf32> {
  %e = tensor.empty() : tensor<256x1024xf32>
  %f = tensor.empty() : tensor<256xf32>
  %p = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<256x512xf32>, tensor<512x1024xf32>) outs(%e : tensor<256x1024xf32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<256x1024xf32>
  %q = redfuse.cascade {indexing_maps = [#x, #r]} ins(%p : tensor<256x1024xf32>) outs(%f : tensor<256xf32>) {
  ^bb0(%x: f32):
    %s = redfuse.reduce maximumf %x over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<256xf32>
  return %q : tensor<256xf32>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Of few rows packing is not worth it.
// CHECK-LABEL: func.func @few_rows
// CHECK: redfuse.cascade
// CHECK: reduce add
// CHECK: reduce maximumf
// CHECK-NOT: redfuse.cascade
func.func @few_rows(%a: tensor<16x512xf32>, %b: tensor<512x1024xf32>) -> tensor<16xf32> {
  %e = tensor.empty() : tensor<16x1024xf32>
  %f = tensor.empty() : tensor<16xf32>
  %p = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<16x512xf32>, tensor<512x1024xf32>) outs(%e : tensor<16x1024xf32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<16x1024xf32>
  %q = redfuse.cascade {indexing_maps = [#x, #r]} ins(%p : tensor<16x1024xf32>) outs(%f : tensor<16xf32>) {
  ^bb0(%x: f32):
    %s = redfuse.reduce maximumf %x over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<16xf32>
  return %q : tensor<16xf32>
}

// -----

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// A chain of which a mask of positions leaves out the half is one kernel, which skips that.
// CHECK-LABEL: func.func @masked
// CHECK: redfuse.cascade
// CHECK: reduce add
// CHECK: reduce maximumf
// CHECK-NOT: redfuse.cascade
func.func @masked(%a: tensor<512x64xf32>, %b: tensor<64x512xf32>) -> tensor<512xf32> {
  %e = tensor.empty() : tensor<512x512xf32>
  %f = tensor.empty() : tensor<512xf32>
  %p = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<512x64xf32>, tensor<64x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%x: f32, %y: f32):
    %m = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<512x512xf32>
  %q = redfuse.cascade {indexing_maps = [#x, #r]} ins(%p : tensor<512x512xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%x: f32):
    %i = redfuse.index 0
    %j = redfuse.index 1
    %in = arith.cmpi ule, %j, %i : index
    %none = arith.constant 0xFF800000 : f32
    %v = arith.select %in, %x, %none : f32
    %s = redfuse.reduce maximumf %v over [1] into [0] : f32
    redfuse.yield %s : f32
  } -> tensor<512xf32>
  return %q : tensor<512xf32>
}
