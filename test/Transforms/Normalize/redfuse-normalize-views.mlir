// RUN: redfuse-opt %s -redfuse-normalize-views | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#transposed = affine_map<(d0, d1) -> (d1, d0)>

// CHECK-DAG: #[[SWAP:.+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[ROW:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[SLICE:.+]] = affine_map<(d0, d1) -> (d0 mod 4, d1 + 2)>
// CHECK-DAG: #[[STRIDED:.+]] = affine_map<(d0, d1) -> (3, d1 * 2 + 1)>

// CHECK-LABEL: func.func @copies
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x?xf32>, %[[B:[^:]+]]: tensor<?xf32>
// CHECK: linalg.generic {indexing_maps = [#[[SWAP]], #[[ROW]],
// CHECK-SAME: ins(%[[X]], %[[B]]
func.func @copies(%x: tensor<?x?xf32>, %b: tensor<?xf32>, %e: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %t = linalg.generic {indexing_maps = [#id, #transposed], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?x?xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<?xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<?x?xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%t, %c : tensor<?x?xf32>, tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %v = arith.addf %x0, %x1 : f32
    linalg.yield %v : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @slices
// CHECK-SAME: %[[X:[^:]+]]: tensor<6x9xf32>
// CHECK-NOT: extract_slice
// CHECK: linalg.generic {indexing_maps = [#[[SLICE]], #[[STRIDED]],
// CHECK-SAME: ins(%[[X]], %[[X]]
func.func @slices(%x: tensor<6x9xf32>, %e: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %s = tensor.extract_slice %x[0, 2] [4, 3] [1, 1] : tensor<6x9xf32> to tensor<4x3xf32>
  %t = tensor.extract_slice %x[3, 1] [1, 3] [1, 2] : tensor<6x9xf32> to tensor<3xf32>
  %r = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d1)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %t : tensor<4x3xf32>, tensor<3xf32>) outs(%e : tensor<4x3xf32>) {
  ^bb0(%x0: f32, %x1: f32, %out: f32):
    %v = arith.addf %x0, %x1 : f32
    linalg.yield %v : f32
  } -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// Only the slice tells how far the reduction runs, and a dynamic extent cannot
// be written into a map: both slices stay.
// CHECK-LABEL: func.func @kept
// CHECK: tensor.extract_slice
// CHECK: linalg.generic
// CHECK: tensor.extract_slice
// CHECK: linalg.generic
func.func @kept(%x: tensor<6x9xf32>, %y: tensor<?xf32>, %n: index, %e: tensor<6xf32>, %z: tensor<?xf32>) -> (tensor<6xf32>, tensor<?xf32>) {
  %s = tensor.extract_slice %x[0, 2] [6, 3] [1, 1] : tensor<6x9xf32> to tensor<6x3xf32>
  %r = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<6x3xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %in, %out : f32
    linalg.yield %v : f32
  } -> tensor<6xf32>
  %t = tensor.extract_slice %y[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%t : tensor<?xf32>) outs(%z : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = math.exp %in : f32
    linalg.yield %v : f32
  } -> tensor<?xf32>
  return %r, %u : tensor<6xf32>, tensor<?xf32>
}

// Of what is computed here a slice does not stay, either: an operand that nobody reads tells how far
// the reduction runs.
// CHECK-LABEL: func.func @slice_of_computed
// CHECK: %[[SQUARE:.+]] = linalg.generic
// CHECK-NOT: tensor.extract_slice
// CHECK: %[[SHAPE:.+]] = tensor.empty() : tensor<6x3xf32>
// CHECK: linalg.generic {{.*}} ins(%[[SQUARE]], %[[SHAPE]] : tensor<6x9xf32>, tensor<6x3xf32>)
func.func @slice_of_computed(%x: tensor<6x9xf32>, %e: tensor<6xf32>) -> tensor<6xf32> {
  %o = tensor.empty() : tensor<6x9xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x9xf32>) outs(%o : tensor<6x9xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.mulf %in, %in : f32
    linalg.yield %v : f32
  } -> tensor<6x9xf32>
  %s = tensor.extract_slice %y[0, 2] [6, 3] [1, 1] : tensor<6x9xf32> to tensor<6x3xf32>
  %r = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<6x3xf32>) outs(%e : tensor<6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %in, %out : f32
    linalg.yield %v : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}

// Unit dims that were added to what is computed do not stand between it and its reader.
// CHECK-LABEL: func.func @unit_dims
// CHECK: %[[Y:.+]] = linalg.generic
// CHECK: math.exp
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic {indexing_maps = [#[[PART:.+]], #{{.+}}], iterator_types = ["parallel", "parallel"]}
// CHECK-SAME: ins(%[[Y]] :
func.func @unit_dims(%x: tensor<6x9xf32>, %e: tensor<6x9xf32>, %o: tensor<6x5xf32>) -> tensor<6x5xf32> {
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x9xf32>) outs(%e : tensor<6x9xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = math.exp %in : f32
    linalg.yield %v : f32
  } -> tensor<6x9xf32>
  %t = tensor.expand_shape %y [[0, 1], [2]] output_shape [1, 6, 9] : tensor<6x9xf32> into tensor<1x6x9xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (0, d0, d1 mod 5)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%t : tensor<1x6x9xf32>) outs(%o : tensor<6x5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.negf %in : f32
    linalg.yield %v : f32
  } -> tensor<6x5xf32>
  return %r : tensor<6x5xf32>
}
