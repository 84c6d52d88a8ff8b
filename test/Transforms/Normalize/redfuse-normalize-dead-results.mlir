// RUN: redfuse-opt %s -redfuse-normalize-dead-results | FileCheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// The index of the max is unused: a plain max is left.
// CHECK-LABEL: func.func @unused_argmax
// CHECK: %[[M:.+]] = linalg.generic
// CHECK-SAME: outs(%{{[^,]*}} : tensor<?xf32>)
// CHECK-NOT: linalg.index
// CHECK: arith.maximumf
// CHECK-NOT: arith.select
// CHECK: return %[[M]]
func.func @unused_argmax(%x: tensor<?x?xf32>, %m: tensor<?xf32>, %i: tensor<?xi64>) -> tensor<?xf32> {
  %r:2 = linalg.generic {indexing_maps = [#map, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x?xf32>) outs(%m, %i : tensor<?xf32>, tensor<?xi64>) {
  ^bb0(%in: f32, %out: f32, %at: i64):
    %k = linalg.index 1 : index
    %n = arith.index_cast %k : index to i64
    %max = arith.maximumf %in, %out : f32
    %c = arith.cmpf ogt, %in, %out : f32
    %s = arith.select %c, %n, %at : i64
    linalg.yield %max, %s : f32, i64
  } -> (tensor<?xf32>, tensor<?xi64>)
  return %r#0 : tensor<?xf32>
}

// CHECK-LABEL: func.func @used_argmax
// CHECK: linalg.index
// CHECK: return %{{.*}}#0, %{{.*}}#1
func.func @used_argmax(%x: tensor<7x3xf32>, %m: tensor<7xf32>, %i: tensor<7xi64>) -> (tensor<7xf32>, tensor<7xi64>) {
  %r:2 = linalg.generic {indexing_maps = [#map, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<7x3xf32>) outs(%m, %i : tensor<7xf32>, tensor<7xi64>) {
  ^bb0(%in: f32, %out: f32, %at: i64):
    %k = linalg.index 1 : index
    %n = arith.index_cast %k : index to i64
    %max = arith.maximumf %in, %out : f32
    %c = arith.cmpf ogt, %in, %out : f32
    %s = arith.select %c, %n, %at : i64
    linalg.yield %max, %s : f32, i64
  } -> (tensor<7xf32>, tensor<7xi64>)
  return %r#0, %r#1 : tensor<7xf32>, tensor<7xi64>
}

// The destination's old value is not read: it need not be computed.
// CHECK-LABEL: func.func @unread_init
// CHECK-NOT: math.exp
// CHECK: tensor.empty() : tensor<4x6xf32>
// CHECK: arith.negf
func.func @unread_init(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<4x6xf32>
  %old = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = math.exp %in : f32
    linalg.yield %v : f32
  } -> tensor<4x6xf32>
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x6xf32>) outs(%old : tensor<4x6xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.negf %in : f32
    linalg.yield %v : f32
  } -> tensor<4x6xf32>
  return %r : tensor<4x6xf32>
}

// An accumulation reads its init: nothing changes.
// CHECK-LABEL: func.func @read_init
// CHECK-SAME: %[[X:[^:]+]]: tensor<7x3xf32>, %[[C:[^:]+]]: tensor<7xf32>
// CHECK: outs(%[[C]]
func.func @read_init(%x: tensor<7x3xf32>, %c: tensor<7xf32>) -> tensor<7xf32> {
  %r = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<7x3xf32>) outs(%c : tensor<7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %in, %out : f32
    linalg.yield %v : f32
  } -> tensor<7xf32>
  return %r : tensor<7xf32>
}
