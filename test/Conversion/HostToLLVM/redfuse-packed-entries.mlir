// RUN: redfuse-opt %s --redfuse-interfaces --convert-func-to-llvm --redfuse-packed-entries --split-input-file | FileCheck %s

// A memref is a pointer to its descriptor, a scalar a pointer to its value.
// CHECK: llvm.func internal @f(
// CHECK: llvm.func internal @_mlir_ciface_f(%{{.*}}: !llvm.ptr, %{{.*}}: f32)
// CHECK-LABEL: llvm.func @f__packed
// CHECK-SAME: (%[[ARGS:.*]]: !llvm.ptr)
// CHECK: %[[A:.*]] = llvm.getelementptr %[[ARGS]][0]
// CHECK: %[[X:.*]] = llvm.load %[[A]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[B:.*]] = llvm.getelementptr %[[ARGS]][1]
// CHECK: %[[P:.*]] = llvm.load %[[B]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[S:.*]] = llvm.load %[[P]] : !llvm.ptr -> f32
// CHECK: llvm.call @_mlir_ciface_f(%[[X]], %[[S]])
func.func @f(%x: memref<?xf32>, %s: f32) {
  return
}
// Private functions have no entry.
// CHECK-NOT: @g__packed
func.func private @g(%x: memref<?xf32>) {
  return
}
