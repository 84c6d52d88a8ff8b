// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-lower-scatters | FileCheck %s

// Other ops on buffers stay as they are.
// CHECK-LABEL: func.func @others
// CHECK:         redfuse.select
// CHECK-NEXT:    memref.copy
// CHECK-NEXT:    return
func.func @others(%x: memref<9xi32>, %v: memref<9xi32>, %o: memref<9xi32>) {
  redfuse.select ins(%x : memref<9xi32>) values(%v : memref<9xi32>)
  memref.copy %v, %o : memref<9xi32> to memref<9xi32>
  return
}
