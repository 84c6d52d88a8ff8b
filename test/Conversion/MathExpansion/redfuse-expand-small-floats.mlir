// RUN: redfuse-opt %s -redfuse-expand-small-floats | FileCheck %s

// Conversions of floats of 8 bits are operations on their bits.

// CHECK-LABEL: func.func @extend
// CHECK: %[[BYTE:.*]] = arith.bitcast %{{.*}} : f8E4M3FN to i8
// CHECK: arith.extui %[[BYTE]] : i8 to i32
// CHECK: arith.uitofp
// CHECK: arith.bitcast %{{.*}} : i32 to f32
// CHECK-NOT: arith.extf
func.func @extend(%x: f8E4M3FN) -> f32 {
  %y = arith.extf %x : f8E4M3FN to f32
  return %y : f32
}

// CHECK-LABEL: func.func @truncate
// CHECK: arith.bitcast %{{.*}} : vector<4xf32> to vector<4xi32>
// CHECK: arith.trunci %{{.*}} : vector<4xi32> to vector<4xi8>
// CHECK: arith.bitcast %{{.*}} : vector<4xi8> to vector<4xf8E5M2>
// CHECK-NOT: arith.truncf
func.func @truncate(%x: vector<4xf32>) -> vector<4xf8E5M2> {
  %y = arith.truncf %x : vector<4xf32> to vector<4xf8E5M2>
  return %y : vector<4xf8E5M2>
}

// f64 goes by an f32 that is rounded to odd: one rounding in all.
// CHECK-LABEL: func.func @once
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.extf %{{.*}} : f32 to f64
// CHECK: arith.ori
// CHECK: arith.bitcast %{{.*}} : i8 to f8E4M3FNUZ
func.func @once(%x: f64) -> f8E4M3FNUZ {
  %y = arith.truncf %x : f64 to f8E4M3FNUZ
  return %y : f8E4M3FNUZ
}

// CHECK-LABEL: func.func @constant
// CHECK: %[[BITS:.*]] = arith.constant 62 : i8
// CHECK: arith.bitcast %[[BITS]] : i8 to f8E5M2
func.func @constant() -> f8E5M2 {
  %y = arith.constant 1.5 : f8E5M2
  return %y : f8E5M2
}

// What is rounded to TF32 and extended again is masked; no TF32 is left.
// CHECK-LABEL: func.func @round
// CHECK-SAME: %[[X:.*]]: f32
// CHECK-DAG: %[[WORD:.*]] = arith.bitcast %[[X]] : f32 to i32
// CHECK: %[[HIGH:.*]] = arith.trunci %{{.*}} : i32 to i19
// CHECK: %[[WIDE:.*]] = arith.extui %[[HIGH]] : i19 to i32
// CHECK: %[[BITS:.*]] = arith.shli %[[WIDE]], %{{.*}} : i32
// CHECK: %[[Y:.*]] = arith.bitcast %[[BITS]] : i32 to f32
// CHECK: return %[[Y]]
func.func @round(%x: f32) -> f32 {
  %narrow = arith.truncf %x : f32 to tf32
  %y = arith.extf %narrow : tf32 to f32
  return %y : f32
}

// Upstream's pass leaves a fused multiply-add in its type.
// CHECK-LABEL: func.func @multiply_add
// CHECK: math.fma %{{.*}}, %{{.*}}, %{{.*}} : f64
// CHECK: arith.trunci %{{.*}} : i32 to i8
func.func @multiply_add(%x: f8E5M2, %y: f8E5M2, %z: f8E5M2) -> f8E5M2 {
  %r = math.fma %x, %y, %z : f8E5M2
  return %r : f8E5M2
}
