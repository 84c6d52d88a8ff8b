// RUN: redfuse-opt %s -redfuse-normalize-captures -redfuse-normalize-broadcasts | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>

// The sum goes through a scalar; the body divides by its inverse.
// CHECK-LABEL: func.func @scalar
// CHECK: %[[SUM:.+]] = linalg.generic
// CHECK: linalg.generic
// CHECK-SAME: ins(%{{.*}}, %[[SUM]] : tensor<?xf32>, tensor<f32>)
// CHECK: arith.divf
// CHECK: arith.mulf
func.func @scalar(%x: tensor<?xf32>, %init: tensor<f32>, %e: tensor<?xf32>) -> tensor<?xf32> {
  %one = arith.constant 1.0 : f32
  %s = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]} ins(%x : tensor<?xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %out: f32):
    %v = arith.addf %a, %out : f32
    linalg.yield %v : f32
  } -> tensor<f32>
  %t = tensor.extract %s[] : tensor<f32>
  %i = arith.divf %one, %t : f32
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %out: f32):
    %v = arith.mulf %a, %i : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
