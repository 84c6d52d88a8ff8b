// RUN: redfuse-opt %s -redfuse-kernel-to-cpu | FileCheck %s

// Without kernels nothing changes.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    memref.copy
// CHECK-NEXT:    return
func.func @main(%x: memref<4xf32>, %o: memref<4xf32>) {
  memref.copy %x, %o : memref<4xf32> to memref<4xf32>
  return
}
