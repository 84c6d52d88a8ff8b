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

// -----

// All elements of the table are checked, whichever of them is read: it is not computed where it is read.
// CHECK-LABEL: func.func @checked
// CHECK:       redfuse.cascade
// CHECK:         cf.assert
// CHECK:       redfuse.cascade
// CHECK:         tensor.extract
#i = affine_map<(i) -> (i)>
func.func @checked(%x: tensor<4xf32>, %w: tensor<2xindex>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %f = tensor.empty() : tensor<2xf32>
  %0 = redfuse.cascade {indexing_maps = [#i, #i]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32):
    %zero = arith.constant 0.0 : f32
    %c = arith.cmpf ogt, %a, %zero : f32
    cf.assert %c, "positive"
    %l = math.log %a : f32
    redfuse.yield %l : f32
  } -> tensor<4xf32>
  %1 = redfuse.cascade {indexing_maps = [#i, #i]} ins(%w : tensor<2xindex>) outs(%f : tensor<2xf32>) {
  ^bb0(%k: index):
    %v = tensor.extract %0[%k] : tensor<4xf32>
    redfuse.yield %v : f32
  } -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
