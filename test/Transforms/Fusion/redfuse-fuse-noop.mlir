// RUN: redfuse-opt %s -redfuse-fuse -split-input-file | FileCheck %s

#s = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// One cascade, and two that have nothing to do with each other.
// CHECK-LABEL: func.func @apart
// CHECK-NOT:   redfuse.refused
// CHECK:       redfuse.reduce add
// CHECK:       redfuse.cascade
// CHECK:       redfuse.reduce mul
func.func @apart(%x: tensor<5x7xf32>, %y: tensor<6x8xf32>) -> (tensor<5xf32>, tensor<6xf32>) {
  %e = tensor.empty() : tensor<5xf32>
  %f = tensor.empty() : tensor<6xf32>
  %0 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%x : tensor<5x7xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce add %a over [1] into [0] : f32
    redfuse.yield %t : f32
  } -> tensor<5xf32>
  %1 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%y : tensor<6x8xf32>) outs(%f : tensor<6xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce mul %a over [1] into [0] : f32
    redfuse.yield %t : f32
  } -> tensor<6xf32>
  return %0, %1 : tensor<5xf32>, tensor<6xf32>
}

// -----

// CHECK-LABEL: func.func @scalars
// CHECK-NEXT:  arith.addf
func.func @scalars(%x: f32) -> f32 {
  %0 = arith.addf %x, %x : f32
  return %0 : f32
}
