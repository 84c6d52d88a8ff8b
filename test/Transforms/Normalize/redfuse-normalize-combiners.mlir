// The attribute becomes redfuse.combine; what does not fit is noted and stays a loop.
// RUN: redfuse-opt %s -redfuse-normalize-combiners -split-input-file | FileCheck %s

#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func @attribute
// CHECK-NOT: redfuse.combiner
func.func @attribute(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
  // CHECK: ^bb0(%[[X:.*]]: f32, %[[S:.*]]: f32):
  // CHECK-NEXT: %[[C:.*]] = redfuse.combine %[[S]], %[[X]] {identities = [0.000000e+00 : f32], ordered} : (f32, f32) -> f32 {
  // CHECK-NEXT: ^bb0(%[[L:.*]]: f32, %[[R:.*]]: f32):
  // CHECK-NEXT: %[[A:.*]] = arith.addf %[[L]], %[[R]] : f32
  // CHECK-NEXT: redfuse.yield %[[A]] : f32
  // CHECK: linalg.yield %[[C]] : f32
  %o = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"],
      redfuse.combiner = {identity = [0.0 : f32], ordered}}
      ins(%x : tensor<5x7xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%u: f32, %s: f32):
    %n = arith.addf %s, %u : f32
    linalg.yield %n : f32
  } -> tensor<5xf32>
  return %o : tensor<5xf32>
}

// -----

#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func @captures
// CHECK-SAME: condition = "declared combiner"
// CHECK-SAME: detail = "result 0 is not combined of accumulators and inputs alone: it needs 'linalg.index'"
// CHECK-NOT: redfuse.combine %
func.func @captures(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %o = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"],
      redfuse.combiner = {identity = [0.0 : f32]}}
      ins(%x : tensor<5x7xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%u: f32, %s: f32):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i32
    %f = arith.sitofp %k : i32 to f32
    %n = arith.addf %s, %f : f32
    linalg.yield %n : f32
  } -> tensor<5xf32>
  return %o : tensor<5xf32>
}

// -----

#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func @identities
// CHECK-SAME: detail = "2 identities, but 1 inputs and 1 results"
func.func @identities(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %o = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"],
      redfuse.combiner = {identity = [0.0 : f32, 1.0 : f32]}}
      ins(%x : tensor<5x7xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%u: f32, %s: f32):
    %n = arith.addf %s, %u : f32
    linalg.yield %n : f32
  } -> tensor<5xf32>
  return %o : tensor<5xf32>
}

// -----

#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func @malformed
// CHECK-SAME: detail = "the attribute is no dictionary with an array 'identity'"
func.func @malformed(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %o = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"],
      redfuse.combiner = 3 : i32}
      ins(%x : tensor<5x7xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%u: f32, %s: f32):
    %n = arith.addf %s, %u : f32
    linalg.yield %n : f32
  } -> tensor<5xf32>
  return %o : tensor<5xf32>
}

// -----

#m = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func @types
// CHECK-SAME: detail = "identity 0 is 0 : i32, but its accumulator has type 'f32'"
func.func @types(%x: tensor<5x7xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %o = linalg.generic {indexing_maps = [#m, #r], iterator_types = ["parallel", "reduction"],
      redfuse.combiner = {identity = [0 : i32]}}
      ins(%x : tensor<5x7xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%u: f32, %s: f32):
    %n = arith.addf %s, %u : f32
    linalg.yield %n : f32
  } -> tensor<5xf32>
  return %o : tensor<5xf32>
}
