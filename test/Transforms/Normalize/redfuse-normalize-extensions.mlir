// RUN: redfuse-opt %s -redfuse-normalize-extensions | FileCheck %s

#x = affine_map<(i, j, k) -> (i, k)>
#w = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>

// Both factors of a product, one of which is transposed on the way.
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func.func @product
// CHECK-SAME: (%[[A:.*]]: tensor<4x8xi8>, %[[B:.*]]: tensor<6x8xi8>, %[[INIT:.*]]: tensor<4x6xi32>)
// CHECK-NOT: linalg.generic {{.*}}"parallel", "parallel"]}
// CHECK: %[[R:.*]] = linalg.generic {indexing_maps = [#[[X]], #[[W]], #{{.*}}], iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[A]], %[[B]] : tensor<4x8xi8>, tensor<6x8xi8>)
// CHECK-DAG: arith.extsi %{{.*}} : i8 to i32
// CHECK-DAG: arith.extui %{{.*}} : i8 to i32
// CHECK: arith.muli
// CHECK: return %[[R]]
func.func @product(%a: tensor<4x8xi8>, %b: tensor<6x8xi8>, %init: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %e = tensor.empty() : tensor<4x8xi32>
  %x = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<4x8xi8>) outs(%e : tensor<4x8xi32>) {
  ^bb0(%in: i8, %out: i32):
    %v = arith.extsi %in : i8 to i32
    linalg.yield %v : i32
  } -> tensor<4x8xi32>
  %f = tensor.empty() : tensor<8x6xi32>
  %w = linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<6x8xi8>) outs(%f : tensor<8x6xi32>) {
  ^bb0(%in: i8, %out: i32):
    %v = arith.extui %in : i8 to i32
    linalg.yield %v : i32
  } -> tensor<8x6xi32>
  %r = linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x8xi32>, tensor<8x6xi32>) outs(%init : tensor<4x6xi32>) {
  ^bb0(%p: i32, %q: i32, %out: i32):
    %m = arith.muli %p, %q : i32
    %s = arith.addi %out, %m : i32
    linalg.yield %s : i32
  } -> tensor<4x6xi32>
  return %r : tensor<4x6xi32>
}
