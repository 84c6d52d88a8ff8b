// RUN: redfuse-opt %s -redfuse-normalize-unit-dims | FileCheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>

// keepdim: the reduction writes [?, 1] and the subtraction reads [?, 1] at (d0, 0).
// CHECK-LABEL: func.func @keepdim
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x33xf32>
// CHECK: %[[SUM:.+]] = linalg.generic

// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK: } -> tensor<?xf32>
// CHECK-NOT: shape
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[X]], %[[SUM]] : tensor<?x33xf32>, tensor<?xf32>)
func.func @keepdim(%x: tensor<?x33xf32>, %e: tensor<?x1xf32>, %o: tensor<?x33xf32>) -> tensor<?x33xf32> {
  %sum = linalg.generic {indexing_maps = [#map, affine_map<(d0, d1) -> (d0, 0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x33xf32>) outs(%e : tensor<?x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %in, %out : f32
    linalg.yield %v : f32
  } -> tensor<?x1xf32>
  %r = linalg.generic {indexing_maps = [#map, affine_map<(d0, d1) -> (d0, 0)>, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<?x33xf32>, tensor<?x1xf32>) outs(%o : tensor<?x33xf32>) {
  ^bb0(%in: f32, %s: f32, %out: f32):
    %v = arith.subf %in, %s : f32
    linalg.yield %v : f32
  } -> tensor<?x33xf32>
  return %r : tensor<?x33xf32>
}

// A slice that is inserted with strides: it ends, whatever becomes of the unit
// dim.

// CHECK-LABEL: func @inserted_with_strides
// CHECK: tensor.insert_slice {{.*}} [1, 1, 2, 2]
func.func @inserted_with_strides(%x: tensor<1x3x5x5xf32>, %y: tensor<1x3x13x13xf32>) -> tensor<1x3x13x13xf32> {
  %i = tensor.insert_slice %x into %y[0, 0, 2, 2] [1, 3, 5, 5] [1, 1, 2, 2] : tensor<1x3x5x5xf32> into tensor<1x3x13x13xf32>
  return %i : tensor<1x3x13x13xf32>
}

// A window of one place reads seven rows of eight: the others are cut off, or
// the loop over the window would be as long as the operand.

// CHECK-LABEL: func @window_of_one_place
// CHECK-SAME: %[[X:[^:]+]]: tensor<5x8x7xf32>
// CHECK: %[[S:.+]] = tensor.extract_slice %[[X]][0, 0, 0] [5, 7, 7] [1, 1, 1]
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction", "reduction"]
// CHECK-SAME: ins(%[[S]], {{.*}} : tensor<5x7x7xf32>, tensor<7x7xf32>)
func.func @window_of_one_place(%x: tensor<5x8x7xf32>, %w: tensor<7x7xf32>, %e: tensor<5x1x1xf32>) -> tensor<5x1x1xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(b, i, j, k, l) -> (b, i + k, j + l)>, affine_map<(b, i, j, k, l) -> (k, l)>, affine_map<(b, i, j, k, l) -> (b, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%x, %w : tensor<5x8x7xf32>, tensor<7x7xf32>) outs(%e : tensor<5x1x1xf32>) {
  ^bb0(%in: f32, %v: f32, %out: f32):
    %s = arith.addf %in, %out : f32
    linalg.yield %s : f32
  } -> tensor<5x1x1xf32>
  return %r : tensor<5x1x1xf32>
}

// Of extents that are not known, the loop of the window says how much is read.

// CHECK-LABEL: func @window_of_any_length
// CHECK-SAME: %[[X:[^:]+]]: tensor<?xf32>, %[[W:[^:]+]]: tensor<?xf32>
// CHECK: %[[N:.+]] = tensor.dim %[[W]]
// CHECK: tensor.extract_slice %[[X]][0] [%[[N]]] [1]
func.func @window_of_any_length(%x: tensor<?xf32>, %w: tensor<?xf32>, %e: tensor<1xf32>) -> tensor<1xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<1xf32>) {
  ^bb0(%in: f32, %v: f32, %out: f32):
    %p = arith.mulf %in, %v : f32
    %s = arith.addf %p, %out : f32
    linalg.yield %s : f32
  } -> tensor<1xf32>
  return %r : tensor<1xf32>
}
