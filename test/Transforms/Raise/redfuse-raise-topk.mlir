// RUN: redfuse-opt %s -redfuse-raise -split-input-file | FileCheck %s

// The largest, and the smallest: the order turned round and back.
// CHECK-LABEL: func.func @largest
// CHECK:       redfuse.cascade {indexing_maps = [#[[I:.*]], #[[O:.*]], #[[O]]]} ins(%arg0 : tensor<5x9xf32>)
// CHECK-NEXT:  ^bb0(%[[X:.*]]: f32):
// CHECK:       %[[J:.*]] = redfuse.index 1
// CHECK:       %[[K:.*]] = arith.index_cast %[[J]]
// CHECK:       %[[T:.*]]:2 = redfuse.reduce topk %[[X]], %[[K]] over [1] into [0, 2] : f32, i64
// CHECK-NEXT:  redfuse.yield %[[T]]#0, %[[T]]#1
func.func @largest(%x: tensor<5x9xf32>) -> (tensor<5x3xf32>, tensor<5x3xi64>) {
  %v = tensor.empty() : tensor<5x3xf32>
  %i = tensor.empty() : tensor<5x3xi64>
  %0:2 = tm_tensor.topk dimension(1) ins(%x : tensor<5x9xf32>) outs(%v, %i : tensor<5x3xf32>, tensor<5x3xi64>) {
  ^bb0(%new: f32, %placed: f32):
    %c = arith.cmpf ult, %placed, %new : f32
    tm_tensor.yield %c : i1
  } -> tensor<5x3xf32>, tensor<5x3xi64>
  return %0#0, %0#1 : tensor<5x3xf32>, tensor<5x3xi64>
}

// CHECK-LABEL: func.func @smallest
// CHECK:       %[[N:.*]] = arith.xori
// CHECK:       redfuse.reduce topk %[[N]], %{{.*}} over [0] into [1, 2] : i32, index
// CHECK:       arith.xori
func.func @smallest(%x: tensor<5x9xi32>) -> (tensor<3x9xi32>, tensor<3x9xindex>) {
  %v = tensor.empty() : tensor<3x9xi32>
  %i = tensor.empty() : tensor<3x9xindex>
  %0:2 = tm_tensor.topk dimension(0) ins(%x : tensor<5x9xi32>) outs(%v, %i : tensor<3x9xi32>, tensor<3x9xindex>) {
  ^bb0(%new: i32, %placed: i32):
    %c = arith.cmpi slt, %new, %placed : i32
    tm_tensor.yield %c : i1
  } -> tensor<3x9xi32>, tensor<3x9xindex>
  return %0#0, %0#1 : tensor<3x9xi32>, tensor<3x9xindex>
}

// NaN behind all numbers, as a sort that keeps its first elements says it: the order of keys,
// integers that are larger the smaller the number is.
// CHECK-LABEL: func.func @smallest_nan_last
// CHECK:       ^bb0(%[[X:.*]]: bf16):
// CHECK:         %[[F:.*]] = arith.extf %[[X]] : bf16 to f32
// CHECK:         arith.cmpf uno
// CHECK:         arith.bitcast %{{.*}} : f32 to i32
// CHECK:         %[[T:.*]]:2 = redfuse.reduce topk %{{.*}}, %{{.*}} over [1] into [0, 2] : i32, i64
// CHECK:         %[[B:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK:         %[[R:.*]] = arith.truncf %[[B]] : f32 to bf16
// CHECK:         redfuse.yield %[[R]], %[[T]]#1
func.func @smallest_nan_last(%x: tensor<5x9xbf16>) -> (tensor<5x3xbf16>, tensor<5x3xi64>) {
  %v = tensor.empty() : tensor<5x3xbf16>
  %i = tensor.empty() : tensor<5x3xi64>
  %0:2 = tm_tensor.topk dimension(1) ins(%x : tensor<5x9xbf16>) outs(%v, %i : tensor<5x3xbf16>, tensor<5x3xi64>) {
  ^bb0(%new: bf16, %placed: bf16):
    %true = arith.constant true
    %less = arith.cmpf ole, %placed, %new : bf16
    %nan = arith.cmpf uno, %new, %new : bf16
    %stays = arith.ori %less, %nan : i1
    %c = arith.xori %stays, %true : i1
    tm_tensor.yield %c : i1
  } -> tensor<5x3xbf16>, tensor<5x3xi64>
  return %0#0, %0#1 : tensor<5x3xbf16>, tensor<5x3xi64>
}

// NaN before all numbers: the reducer's own order.
// CHECK-LABEL: func.func @largest_nan_first
// CHECK:       ^bb0(%[[X:.*]]: f32):
// CHECK:         redfuse.reduce topk %[[X]], %{{.*}} over [1] into [0, 2] : f32, i64
func.func @largest_nan_first(%x: tensor<5x9xf32>) -> (tensor<5x3xf32>, tensor<5x3xi64>) {
  %v = tensor.empty() : tensor<5x3xf32>
  %i = tensor.empty() : tensor<5x3xi64>
  %0:2 = tm_tensor.topk dimension(1) ins(%x : tensor<5x9xf32>) outs(%v, %i : tensor<5x3xf32>, tensor<5x3xi64>) {
  ^bb0(%new: f32, %placed: f32):
    %true = arith.constant true
    %nan = arith.cmpf uno, %placed, %placed : f32
    %more = arith.cmpf oge, %placed, %new : f32
    %stays = arith.ori %nan, %more : i1
    %c = arith.xori %stays, %true : i1
    tm_tensor.yield %c : i1
  } -> tensor<5x3xf32>, tensor<5x3xi64>
  return %0#0, %0#1 : tensor<5x3xf32>, tensor<5x3xi64>
}

// -----

// CHECK-LABEL: func.func @last_of_equals
// CHECK-SAME:  detail = "a top-k whose region is not a strict comparison
// CHECK:       tm_tensor.topk
func.func @last_of_equals(%x: tensor<5x9xf32>) -> (tensor<5x3xf32>, tensor<5x3xi64>) {
  %v = tensor.empty() : tensor<5x3xf32>
  %i = tensor.empty() : tensor<5x3xi64>
  %0:2 = tm_tensor.topk dimension(1) ins(%x : tensor<5x9xf32>) outs(%v, %i : tensor<5x3xf32>, tensor<5x3xi64>) {
  ^bb0(%new: f32, %placed: f32):
    %c = arith.cmpf oge, %new, %placed : f32
    tm_tensor.yield %c : i1
  } -> tensor<5x3xf32>, tensor<5x3xi64>
  return %0#0, %0#1 : tensor<5x3xf32>, tensor<5x3xi64>
}

// -----

// CHECK-LABEL: func.func @keeps_the_rest
// CHECK-SAME:  detail = "a top-k that may have fewer elements than k
// CHECK:       tm_tensor.topk
func.func @keeps_the_rest(%x: tensor<5x?xf32>, %v: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<5x3xi64>) {
  %i = tensor.empty() : tensor<5x3xi64>
  %0:2 = tm_tensor.topk dimension(1) ins(%x : tensor<5x?xf32>) outs(%v, %i : tensor<5x3xf32>, tensor<5x3xi64>) {
  ^bb0(%new: f32, %placed: f32):
    %c = arith.cmpf ogt, %new, %placed : f32
    tm_tensor.yield %c : i1
  } -> tensor<5x3xf32>, tensor<5x3xi64>
  return %0#0, %0#1 : tensor<5x3xf32>, tensor<5x3xi64>
}
