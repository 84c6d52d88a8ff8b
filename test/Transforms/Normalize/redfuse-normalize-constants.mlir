// RUN: redfuse-opt %s -redfuse-normalize-constants | FileCheck %s

#map = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>

// A splat, a 0-d constant, a fill and a scalar operand are scalars in the body.
// CHECK-LABEL: func.func @inputs
// CHECK-SAME: %[[X:[^:]+]]: tensor<2x3xf32>, %[[S:[^:]+]]: f32
// CHECK-DAG: %[[INF:.+]] = arith.constant 0xFF800000 : f32
// CHECK-DAG: %[[TWO:.+]] = arith.constant 2.000000e+00 : f32
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[X]] : tensor<2x3xf32>)
// CHECK: arith.mulf %{{.*}}, %[[TWO]]
// CHECK: arith.addf %{{.*}}, %[[INF]]
// CHECK: arith.maximumf %{{.*}}, %[[S]]
func.func @inputs(%x: tensor<2x3xf32>, %s: f32) -> tensor<2x3xf32> {
  %two = arith.constant dense<2.0> : tensor<2x3xf32>
  %inf = arith.constant dense<0xFF800000> : tensor<f32>
  %e = tensor.empty() : tensor<2x3xf32>
  %f = linalg.fill ins(%s : f32) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
  %r = linalg.generic {indexing_maps = [#map, #map, #none, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %two, %inf, %f : tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%in: f32, %a: f32, %b: f32, %c: f32, %out: f32):
    %0 = arith.mulf %in, %a : f32
    %1 = arith.addf %0, %b : f32
    %2 = arith.maximumf %1, %c : f32
    linalg.yield %2 : f32
  } -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// 1/3 is not exact in f32; the run-time truncation rounds just so.
// CHECK-LABEL: func.func @truncation
// CHECK: arith.constant 0.333333343 : f32
// CHECK-NOT: arith.truncf
func.func @truncation(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %third = arith.constant 0.33333333333333331 : f64
  %e = tensor.empty() : tensor<2x3xf32>
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %c = arith.truncf %third : f64 to f32
    %0 = arith.mulf %in, %c : f32
    linalg.yield %0 : f32
  } -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @inits
// CHECK-SAME: %[[S:[^:]+]]: f32
// CHECK: %[[A:.+]] = linalg.fill ins(%[[S]]
// CHECK: %[[B:.+]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<3xf32>)
// CHECK: linalg.generic
// CHECK-SAME: outs(%[[B]]
func.func @inits(%s: f32, %x: tensor<3x5xf32>, %e: tensor<?xf32>) -> (tensor<?xf32>, tensor<3xf32>) {
  %zero = arith.constant dense<0.0> : tensor<3xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%e : tensor<?xf32>) {
  ^bb0(%out: f32):
    linalg.yield %s : f32
  } -> tensor<?xf32>
  %b = linalg.generic {indexing_maps = [#map, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x5xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = arith.addf %in, %out : f32
    linalg.yield %v : f32
  } -> tensor<3xf32>
  return %a, %b : tensor<?xf32>, tensor<3xf32>
}

// Constants that vary stay operands.
// CHECK-LABEL: func.func @varying
// CHECK: %[[C:.+]] = arith.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK: ins(%[[C]] : tensor<2xf32>)
func.func @varying() -> tensor<2xf32> {
  %c = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %e = tensor.empty() : tensor<2xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%c : tensor<2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %v = math.exp %in : f32
    linalg.yield %v : f32
  } -> tensor<2xf32>
  return %r : tensor<2xf32>
}

// A table of positions is computed; that none is negative is known.
// CHECK-LABEL: func.func @positions
// CHECK-NOT: tensor<2x3xi64>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3xf32>)
// CHECK: %[[J:.+]] = linalg.index 1
// CHECK: %[[AT:.+]] = arith.addi %[[J]], %{{.*}} : index
// CHECK-NOT: arith.cmpi
// CHECK: tensor.extract %{{.*}}[%[[AT]]]
func.func @positions(%x: tensor<9xf32>) -> tensor<2x3xf32> {
  %c0 = arith.constant 0 : i64
  %c9 = arith.constant 9 : i64
  %table = arith.constant dense<[[4, 5, 6], [4, 5, 6]]> : tensor<2x3xi64>
  %e = tensor.empty() : tensor<2x3xf32>
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%table : tensor<2x3xi64>) outs(%e : tensor<2x3xf32>) {
  ^bb0(%in: i64, %out: f32):
    %n = arith.cmpi slt, %in, %c0 : i64
    %w = arith.addi %in, %c9 : i64
    %s = arith.select %n, %w, %in : i64
    %i = arith.index_cast %s : i64 to index
    %v = tensor.extract %x[%i] : tensor<9xf32>
    linalg.yield %v : f32
  } -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}

// A table of other numbers stays.
// CHECK-LABEL: func.func @other_numbers
// CHECK: arith.constant dense<[4, 5, 7]>
func.func @other_numbers() -> tensor<3xi64> {
  %table = arith.constant dense<[4, 5, 7]> : tensor<3xi64>
  %e = tensor.empty() : tensor<3xi64>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%table : tensor<3xi64>) outs(%e : tensor<3xi64>) {
  ^bb0(%in: i64, %out: i64):
    %v = arith.addi %in, %in : i64
    linalg.yield %v : i64
  } -> tensor<3xi64>
  return %r : tensor<3xi64>
}
