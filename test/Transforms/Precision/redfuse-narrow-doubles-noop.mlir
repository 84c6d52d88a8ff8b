// RUN: redfuse-opt %s -redfuse-narrow-doubles | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// An f32 result has more digits than are lost.
// CHECK-LABEL: func.func @wide_result
// CHECK:         redfuse.reduce add %{{.*}} over [1] into [0] : f64
func.func @wide_result(%x: tensor<4x8xbf16>, %o: tensor<4xf32>) -> tensor<4xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<4x8xbf16>) outs(%o : tensor<4xf32>) {
  ^bb0(%a: bf16):
    %double = arith.extf %a : bf16 to f64
    %sum = redfuse.reduce add %double over [1] into [0] : f64
    %short = arith.truncf %sum : f64 to f32
    redfuse.yield %short : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// So has an f32 input.
// CHECK-LABEL: func.func @wide_input
// CHECK:         redfuse.reduce add %{{.*}} over [1] into [0] : f64
func.func @wide_input(%x: tensor<4x8xf32>, %o: tensor<4xbf16>) -> tensor<4xbf16> {
  %r = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<4x8xf32>) outs(%o : tensor<4xbf16>) {
  ^bb0(%a: f32):
    %double = arith.extf %a : f32 to f64
    %sum = redfuse.reduce add %double over [1] into [0] : f64
    %short = arith.truncf %sum : f64 to bf16
    redfuse.yield %short : bf16
  } -> tensor<4xbf16>
  return %r : tensor<4xbf16>
}

// A comparison could come out differently.
// CHECK-LABEL: func.func @compared
// CHECK:         arith.cmpf ogt, %{{.*}} : f64
func.func @compared(%x: tensor<4x8xbf16>, %o: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %zero = arith.constant 0.0 : bf16
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<4x8xbf16>) outs(%o : tensor<4x8xbf16>) {
  ^bb0(%a: bf16):
    %double = arith.extf %a : bf16 to f64
    %sum = redfuse.reduce add %double over [1] into [0] : f64
    %is = arith.cmpf ogt, %double, %sum : f64
    %short = arith.select %is, %a, %zero : bf16
    redfuse.yield %short : bf16
  } -> tensor<4x8xbf16>
  return %r : tensor<4x8xbf16>
}

// So could a constant that f32 does not have.
// CHECK-LABEL: func.func @large_constant
// CHECK:         arith.mulf %{{.*}} : f64
func.func @large_constant(%x: tensor<4x8xbf16>, %o: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %large = arith.constant 1.0e+300 : f64
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<4x8xbf16>) outs(%o : tensor<4x8xbf16>) {
  ^bb0(%a: bf16):
    %double = arith.extf %a : bf16 to f64
    %product = arith.mulf %double, %large : f64
    %quotient = arith.divf %product, %large : f64
    %short = arith.truncf %quotient : f64 to bf16
    redfuse.yield %short : bf16
  } -> tensor<4x8xbf16>
  return %r : tensor<4x8xbf16>
}
