// RUN: redfuse-opt %s -redfuse-expand-small-floats | FileCheck %s

// Other types stay.

// CHECK-LABEL: func.func @others
// CHECK-NEXT: arith.extf %{{.*}} : bf16 to f32
// CHECK-NEXT: arith.truncf %{{.*}} : f32 to f16
// CHECK-NEXT: return
func.func @others(%x: bf16) -> f16 {
  %y = arith.extf %x : bf16 to f32
  %z = arith.truncf %y : f32 to f16
  return %z : f16
}
