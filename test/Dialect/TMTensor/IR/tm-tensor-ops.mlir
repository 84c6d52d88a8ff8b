// RUN: redfuse-opt %s | redfuse-opt | FileCheck %s

// CHECK-LABEL: func @round_trip
// CHECK: tm_tensor.sort dimension(0) outs(%{{.*}}, %{{.*}} : tensor<?xf32>, tensor<?xi64>)
// CHECK: tm_tensor.topk dimension(0) ins(%{{.*}} : tensor<?xf32>, tensor<?xi64>) outs(
// CHECK: tm_tensor.scan dimension(0) inclusive(false) ins(
func.func @round_trip(%x: tensor<?xf32>, %i: tensor<?xi64>, %v: tensor<3xf32>, %j: tensor<3xi64>, %l: tensor<f32>) {
  %s:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<?xf32>, tensor<?xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %o = arith.cmpf oge, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<?xf32>, tensor<?xi64>
  %t:2 = tm_tensor.topk dimension(0) ins(%x, %i : tensor<?xf32>, tensor<?xi64>) outs(%v, %j : tensor<3xf32>, tensor<3xi64>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.cmpf ogt, %a, %b : f32
    tm_tensor.yield %o : i1
  } -> tensor<3xf32>, tensor<3xi64>
  %u:2 = tm_tensor.scan dimension(0) inclusive(false) ins(%x : tensor<?xf32>) outs(%x, %l : tensor<?xf32>, tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %o = arith.addf %a, %b : f32
    tm_tensor.yield %o : f32
  } -> tensor<?xf32>, tensor<f32>
  return
}

// CHECK-LABEL: func @scatter
// CHECK: tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%{{.*}}, %{{.*}} : tensor<?x1x8xf32>, tensor<?x1xi64>) outs(%{{.*}} : tensor<40x8xf32>)
func.func @scatter(%u: tensor<?x1x8xf32>, %i: tensor<?x1xi64>, %o: tensor<40x8xf32>) -> tensor<40x8xf32> {
  %s = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %i : tensor<?x1x8xf32>, tensor<?x1xi64>) outs(%o : tensor<40x8xf32>) {
  ^bb0(%new: f32, %old: f32):
    %a = arith.addf %old, %new : f32
    tm_tensor.yield %a : f32
  } -> tensor<40x8xf32>
  return %s : tensor<40x8xf32>
}

// CHECK-LABEL: func @attention
// CHECK: tm_tensor.attention ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x?x8xf16>, tensor<2x5x8xf16>, tensor<2x5x6xf16>, tensor<2x?x5xi1>) outs(%{{.*}} : tensor<2x?x6xf16>) -> tensor<2x?x6xf16>
func.func @attention(%q: tensor<2x?x8xf16>, %k: tensor<2x5x8xf16>, %v: tensor<2x5x6xf16>, %m: tensor<2x?x5xi1>, %o: tensor<2x?x6xf16>) -> tensor<2x?x6xf16> {
  %r = tm_tensor.attention ins(%q, %k, %v, %m : tensor<2x?x8xf16>, tensor<2x5x8xf16>, tensor<2x5x6xf16>, tensor<2x?x5xi1>) outs(%o : tensor<2x?x6xf16>) -> tensor<2x?x6xf16>
  return %r : tensor<2x?x6xf16>
}
