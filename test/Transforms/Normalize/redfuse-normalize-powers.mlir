// RUN: redfuse-opt %s -redfuse-normalize-powers -cse | FileCheck %s

// CHECK-LABEL: func.func @whole
// CHECK-SAME: %[[X:[^:]+]]: f32
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[X2:.+]] = arith.mulf %[[X]], %[[X]] : f32
// CHECK-DAG: %[[X3:.+]] = arith.mulf %[[X]], %{{.*}} : f32
// CHECK-DAG: %[[INV:.+]] = arith.divf %[[ONE]], %{{.*}} : f32
// CHECK-NOT: math
// CHECK: return %[[X2]], %[[X3]], %[[INV]], %[[ONE]]
func.func @whole(%x: f32) -> (f32, f32, f32, f32) {
  %two = arith.constant 2 : i64
  %three = arith.constant 3.0 : f32
  %minus = arith.constant -2 : i32
  %zero = arith.constant 0.0 : f32
  %a = math.fpowi %x, %two : f32, i64
  %b = math.powf %x, %three : f32
  %c = math.fpowi %x, %minus : f32, i32
  %d = math.powf %x, %zero : f32
  return %a, %b, %c, %d : f32, f32, f32, f32
}

// CHECK-LABEL: func.func @kept
// CHECK-COUNT-2: math.powf
// CHECK-COUNT-2: math.fpowi
func.func @kept(%x: f32, %n: i32) -> (f32, f32, f32, f32) {
  %half = arith.constant 0.5 : f32
  %nan = arith.constant 0x7FC00000 : f32
  %many = arith.constant 1000 : i32
  %a = math.powf %x, %half : f32
  %b = math.powf %x, %nan : f32
  %c = math.fpowi %x, %many : f32, i32
  %d = math.fpowi %x, %n : f32, i32
  return %a, %b, %c, %d : f32, f32, f32, f32
}
