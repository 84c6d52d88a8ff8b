// RUN: redfuse-opt %s -redfuse-selections-to-cpu -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @f
// CHECK-SAME: %[[X:[^:]+]]: memref<8x512xf32>, %[[V:[^:]+]]: memref<8x512xf32>
// CHECK: %[[ROWS:.+]] = arith.constant 8 : index
// CHECK: call @select_0(%{{.*}}, %{{.*}}, %[[X]], %[[V]]) {redfuse.parallel}
// CHECK: func.func private @select_0(%[[FIRST:.+]]: index, %[[END:.+]]: index, %{{.*}}: memref<8x512xf32>, %{{.*}}: memref<8x512xf32>)
// CHECK: call @redfuse_rt_scratch_view
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END]]
func.func @f(%x: memref<8x512xf32>, %v: memref<8x512xf32>) {
  redfuse.select ins(%x : memref<8x512xf32>) values(%v : memref<8x512xf32>)
  return
}

// -----

// A function of the program's own has the name: the selection's has another.
// CHECK-LABEL: func.func @select_0()
// CHECK: call @[[OTHER:select_0_.+]](%{{.*}}) {redfuse.parallel}
// CHECK: func.func private @[[OTHER]](
func.func @select_0() {
  return
}
func.func @g(%x: memref<8x512xf32>, %v: memref<8x512xf32>) {
  redfuse.select ins(%x : memref<8x512xf32>) values(%v : memref<8x512xf32>)
  return
}
