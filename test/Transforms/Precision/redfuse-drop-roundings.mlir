// RUN: redfuse-opt -redfuse-drop-roundings %s | FileCheck %s

#i = affine_map<(i) -> (i)>
#ij = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// Between two operations.
// CHECK-LABEL: @between
// CHECK: %[[E:.*]] = math.exp
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[E]] : f32
// CHECK-NEXT: %[[R:.*]] = arith.truncf %[[T]] : f32 to f16
// CHECK-NEXT: redfuse.yield %[[R]] : f16
func.func @between(%x: tensor<80xf16>, %o: tensor<80xf16>) -> tensor<80xf16> {
  %r = redfuse.cascade {indexing_maps = [#i, #i]} ins(%x : tensor<80xf16>) outs(%o : tensor<80xf16>) {
  ^bb0(%a: f16):
    %0 = arith.extf %a : f16 to f32
    %1 = math.exp %0 : f32
    %2 = arith.truncf %1 : f32 to f16
    %3 = arith.extf %2 : f16 to f32
    %4 = math.tanh %3 : f32
    %5 = arith.truncf %4 : f32 to f16
    redfuse.yield %5 : f16
  } -> tensor<80xf16>
  return %r : tensor<80xf16>
}

// What is stored is rounded; what is computed of it is not, also where it is squared.
// CHECK-LABEL: @stored
// CHECK: %[[E:.*]] = math.exp
// CHECK-NEXT: %[[R:.*]] = arith.truncf %[[E]] : f32 to bf16
// CHECK-NEXT: %[[S:.*]] = arith.mulf %[[E]], %[[E]] : f32
// CHECK-NEXT: %[[M:.*]] = redfuse.reduce add %[[S]]
// CHECK-NEXT: redfuse.yield %[[R]], %[[M]]
func.func @stored(%x: tensor<6x80xbf16>, %o: tensor<6x80xbf16>, %p: tensor<6xf32>) -> (tensor<6x80xbf16>, tensor<6xf32>) {
  %r:2 = redfuse.cascade {indexing_maps = [#ij, #ij, #r]} ins(%x : tensor<6x80xbf16>) outs(%o, %p : tensor<6x80xbf16>, tensor<6xf32>) {
  ^bb0(%a: bf16):
    %0 = arith.extf %a : bf16 to f32
    %1 = math.exp %0 : f32
    %2 = arith.truncf %1 : f32 to bf16
    %3 = arith.extf %2 : bf16 to f32
    %4 = arith.mulf %3, %3 : f32
    %5 = redfuse.reduce add %4 over [1] into [0] : f32
    redfuse.yield %2, %5 : bf16, f32
  } -> tensor<6x80xbf16>, tensor<6xf32>
  return %r#0, %r#1 : tensor<6x80xbf16>, tensor<6xf32>
}
