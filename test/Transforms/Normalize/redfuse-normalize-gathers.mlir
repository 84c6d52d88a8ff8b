// RUN: redfuse-opt %s -redfuse-normalize-gathers | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0) -> (d0)>

// One element of each row is wanted: the row's producer is evaluated there.
// CHECK-LABEL: func.func @chosen
// CHECK-SAME: %[[X:[^:]+]]: tensor<24x1000xf32>, %[[M:[^:]+]]: tensor<24xf32>, %[[T:[^:]+]]: tensor<24xi64>
// CHECK-NOT: math.exp
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[T]] :
// CHECK: %[[I:.+]] = linalg.index 0
// CHECK: %[[J:.+]] = arith.index_cast
// CHECK-DAG: %[[A:.+]] = tensor.extract %[[X]][%[[I]], %[[J]]]
// CHECK-DAG: %[[B:.+]] = tensor.extract %[[M]][%[[I]]]
// CHECK: %[[D:.+]] = arith.subf %[[A]], %[[B]]
// CHECK: math.exp %[[D]]
func.func @chosen(%x: tensor<24x1000xf32>, %m: tensor<24xf32>, %t: tensor<24xi64>) -> tensor<24xf32> {
  %e = tensor.empty() : tensor<24x1000xf32>
  %p = linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0)>, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<24x1000xf32>, tensor<24xf32>) outs(%e : tensor<24x1000xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.subf %a, %b : f32
    %1 = math.exp %0 : f32
    linalg.yield %1 : f32
  } -> tensor<24x1000xf32>
  %f = tensor.empty() : tensor<24xf32>
  %r = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%t : tensor<24xi64>) outs(%f : tensor<24xf32>) {
  ^bb0(%a: i64, %out: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %a : i64 to index
    %v = tensor.extract %p[%i, %j] : tensor<24x1000xf32>
    linalg.yield %v : f32
  } -> tensor<24xf32>
  return %r : tensor<24xf32>
}

// A small table that is read often is computed once.
// CHECK-LABEL: func.func @table
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: tensor.extract
// CHECK-NOT: math.exp
// CHECK: return
func.func @table(%x: tensor<4xf32>, %t: tensor<100xi64>) -> tensor<100xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %p = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %out: f32):
    %1 = math.exp %a : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %f = tensor.empty() : tensor<100xf32>
  %r = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%t : tensor<100xi64>) outs(%f : tensor<100xf32>) {
  ^bb0(%a: i64, %out: f32):
    %j = arith.index_cast %a : i64 to index
    %v = tensor.extract %p[%j] : tensor<4xf32>
    linalg.yield %v : f32
  } -> tensor<100xf32>
  return %r : tensor<100xf32>
}
