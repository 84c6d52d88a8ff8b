// A running sum is a generic whose second result is written at every step.
// RUN: redfuse-opt %s -redfuse-normalize-scans -split-input-file | FileCheck %s

// CHECK: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func @sum
func.func @sum(%x: tensor<?x7xf32>, %out: tensor<?x7xf32>, %last: tensor<?xf32>) -> (tensor<?x7xf32>, tensor<?xf32>) {
  // CHECK: %[[S:.*]] = linalg.fill
  // CHECK: %[[G:.*]]:2 = linalg.generic {indexing_maps = [#[[ALL]], #[[ROW]], #[[ALL]]], iterator_types = ["parallel", "reduction"]}
  // CHECK-SAME: outs(%[[S]], %{{.*}} : tensor<?xf32>, tensor<?x7xf32>)
  // CHECK: ^bb0(%[[X:.*]]: f32, %[[A:.*]]: f32, %{{.*}}: f32):
  // CHECK: %[[N:.*]] = arith.addf %[[A]], %[[X]] : f32
  // CHECK: linalg.yield %[[N]], %[[N]] : f32, f32
  // CHECK: %[[L:.*]] = tensor.extract_slice %[[G]]#1[0, 6]
  // CHECK: return %[[G]]#1, %[[L]]
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<?x7xf32>)
      outs(%out, %last : tensor<?x7xf32>, tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    tm_tensor.yield %n : f32
  } -> tensor<?x7xf32>, tensor<?xf32>
  return %r#0, %r#1 : tensor<?x7xf32>, tensor<?xf32>
}

// -----

// What comes before the first element is the destination's, and no known reducer.
// CHECK-LABEL: func @stays
func.func @stays(%x: tensor<5x7xf32>, %out: tensor<5x7xf32>, %last: tensor<5xf32>) -> (tensor<5x7xf32>, tensor<5x7xf32>) {
  // CHECK-COUNT-2: tm_tensor.scan
  // CHECK-NOT: linalg.generic
  %r:2 = tm_tensor.scan dimension(1) inclusive(false) ins(%x : tensor<5x7xf32>)
      outs(%out, %last : tensor<5x7xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.addf %a, %b : f32
    tm_tensor.yield %n : f32
  } -> tensor<5x7xf32>, tensor<5xf32>
  %s:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<5x7xf32>)
      outs(%out, %last : tensor<5x7xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %n = arith.subf %a, %b : f32
    tm_tensor.yield %n : f32
  } -> tensor<5x7xf32>, tensor<5xf32>
  return %r#0, %s#0 : tensor<5x7xf32>, tensor<5x7xf32>
}

// -----

// A declared reducer is one of the program's own.
// CHECK-LABEL: func @declared
func.func @declared(%x: tensor<5x7xf32>, %out: tensor<5x7xf32>, %last: tensor<5xf32>) -> tensor<5x7xf32> {
  // CHECK-NOT: tm_tensor
  // CHECK: linalg.generic
  // CHECK: redfuse.combine %{{.*}}, %{{.*}} {identities = [1.000000e+00 : f32]}
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) {redfuse.combiner = {identity = [1.0 : f32]}}
      ins(%x : tensor<5x7xf32>) outs(%out, %last : tensor<5x7xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    %n = math.absf %m : f32
    tm_tensor.yield %n : f32
  } -> tensor<5x7xf32>, tensor<5xf32>
  return %r#0 : tensor<5x7xf32>
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>

// The total of a row of any length is its last prefix, or the initial value.
// CHECK-LABEL: func @total
// CHECK: %[[F:.*]] = linalg.fill
// CHECK: %[[G:.*]]:2 = linalg.generic
// CHECK: %[[B:.*]] = scf.if
// CHECK: tensor.extract_slice %[[G]]#1
// CHECK: else
// CHECK: scf.yield %[[F]]
// CHECK: return %[[G]]#1, %[[B]]
func.func @total(%x: tensor<3x?xf32>, %p: tensor<3x?xf32>) -> (tensor<3x?xf32>, tensor<3xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %r:2 = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x?xf32>) outs(%f, %p : tensor<3xf32>, tensor<3x?xf32>) {
  ^bb0(%a: f32, %o: f32, %u: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s, %s : f32, f32
  } -> (tensor<3xf32>, tensor<3x?xf32>)
  return %r#1, %r#0 : tensor<3x?xf32>, tensor<3xf32>
}

// Prefixes that need not be in memory are not put there.
// CHECK-LABEL: func @inside
// CHECK: %[[G:.*]]:2 = linalg.generic
// CHECK-NOT: tensor.extract_slice
// CHECK: return %{{.*}}, %[[G]]#0
func.func @inside(%x: tensor<3x7xf32>, %f: tensor<3xf32>, %p: tensor<3x7xf32>) -> (tensor<3x7xf32>, tensor<3xf32>) {
  %r:2 = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x7xf32>) outs(%f, %p : tensor<3xf32>, tensor<3x7xf32>) {
  ^bb0(%a: f32, %o: f32, %u: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s, %s : f32, f32
  } -> (tensor<3xf32>, tensor<3x7xf32>)
  %t = linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%r#1 : tensor<3x7xf32>) outs(%p : tensor<3x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<3x7xf32>
  return %t, %r#0 : tensor<3x7xf32>, tensor<3xf32>
}

// A combiner that needs more than two elements is refused by name, and the scan stays.
// CHECK-LABEL: func.func @declared
// CHECK-SAME: redfuse.refused = [{condition = "declared combiner", detail = "result 0 is not combined of accumulators and inputs alone
// CHECK: tm_tensor.scan
// CHECK-NOT: {redfuse.combiner
func.func @declared(%x: tensor<5x7xf32>, %out: tensor<5x7xf32>, %last: tensor<5xf32>, %w: f32) -> tensor<5x7xf32> {
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) {redfuse.combiner = {identity = [1.0 : f32]}}
      ins(%x : tensor<5x7xf32>) outs(%out, %last : tensor<5x7xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.mulf %m, %w : f32
    tm_tensor.yield %n : f32
  } -> tensor<5x7xf32>, tensor<5xf32>
  return %r#0 : tensor<5x7xf32>
}

// CHECK-LABEL: func.func @no_dictionary
// CHECK-SAME: detail = "the attribute is no dictionary"
func.func @no_dictionary(%x: tensor<5x7xf32>, %out: tensor<5x7xf32>, %last: tensor<5xf32>, %w: f32) -> tensor<5x7xf32> {
  %r:2 = tm_tensor.scan dimension(1) inclusive(true) {redfuse.combiner = 3 : i32}
      ins(%x : tensor<5x7xf32>) outs(%out, %last : tensor<5x7xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.mulf %m, %w : f32
    tm_tensor.yield %n : f32
  } -> tensor<5x7xf32>, tensor<5xf32>
  return %r#0 : tensor<5x7xf32>
}
