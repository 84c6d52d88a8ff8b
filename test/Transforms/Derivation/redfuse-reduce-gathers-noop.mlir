// RUN: redfuse-opt %s -redfuse-reduce-gathers | FileCheck %s

#i = affine_map<(i) -> (i)>
#r = affine_map<(i, j) -> (i)>
#x = affine_map<(i, j) -> (i, j)>

// Rows of a table: all of it would be gone through for each.
// CHECK-LABEL: func.func @rows(
// CHECK-COUNT-1: redfuse.cascade
// CHECK:         tensor.extract
// CHECK-NOT:     redfuse.cascade
func.func @rows(%table: tensor<9x8xf32>, %at: tensor<6xindex>) -> tensor<6x8xf32> {
  %e = tensor.empty() : tensor<6x8xf32>
  %r = redfuse.cascade {indexing_maps = [#r, #x]} ins(%at : tensor<6xindex>) outs(%e : tensor<6x8xf32>) {
  ^bb0(%a: index):
    %j = redfuse.index 1
    %v = tensor.extract %table[%a, %j] : tensor<9x8xf32>
    redfuse.yield %v : f32
  } -> tensor<6x8xf32>
  return %r : tensor<6x8xf32>
}

// One row for all points, and a place that another reduction gives.
// CHECK-LABEL: func.func @others(
// CHECK:         tensor.extract
// CHECK:         tensor.extract
func.func @others(%v: tensor<9xf32>, %x: tensor<6x8xf32>, %at: tensor<6x4xindex>) -> (tensor<6xf32>, tensor<6xf32>) {
  %e = tensor.empty() : tensor<6xf32>
  %n = tensor.empty() : tensor<6xindex>
  %p = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, #r]} ins(%at : tensor<6x4xindex>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: index):
    %m = redfuse.reduce maxsi %a over [1] into [0] : index
    %i = redfuse.index 0
    %g = tensor.extract %x[%i, %m] : tensor<6x8xf32>
    redfuse.yield %g : f32
  } -> tensor<6xf32>
  %q = redfuse.cascade {indexing_maps = [#i, #i]} ins(%n : tensor<6xindex>) outs(%e : tensor<6xf32>) {
  ^bb0(%a: index):
    %g = tensor.extract %v[%a] : tensor<9xf32>
    redfuse.yield %g : f32
  } -> tensor<6xf32>
  return %p, %q : tensor<6xf32>, tensor<6xf32>
}
