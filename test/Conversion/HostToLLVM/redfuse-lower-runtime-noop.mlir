// RUN: redfuse-opt %s --redfuse-lower-runtime | FileCheck %s

// CHECK-LABEL: func.func @plain
// CHECK-NEXT: memref.load
// CHECK-NEXT: return
// CHECK-NOT: redfuse_rt
func.func @plain(%x: memref<f32>) -> f32 {
  %v = memref.load %x[] : memref<f32>
  return %v : f32
}
