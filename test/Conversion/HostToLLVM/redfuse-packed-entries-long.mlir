// RUN: redfuse-opt %s --redfuse-interfaces --convert-func-to-llvm --convert-cf-to-llvm --reconcile-unrealized-casts --canonicalize '--redfuse-packed-entries=max-values=4' | FileCheck %s

// Every block loads the fields that it uses where it uses them; what loops use is loaded once.
// CHECK-NOT: @_mlir_ciface_f
// CHECK-LABEL: llvm.func @f__packed
// CHECK-SAME: (%[[ARGS:.*]]: !llvm.ptr)
// CHECK: %[[P:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[N:.*]] = llvm.load %[[P]] : !llvm.ptr -> i64
// CHECK: llvm.br ^[[LOOP:.*]](
// CHECK: ^[[LOOP]](
// CHECK-NOT: llvm.load
// CHECK: llvm.call @use_scalar(%[[N]])
// CHECK: llvm.cond_br
// CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[ARGS]][0]
// CHECK: %[[X:.*]] = llvm.load %[[SLOT]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %[[X]][0, 1] {{.*}}!llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
// CHECK: %[[ALIGNED:.*]] = llvm.load %[[FIELD]] : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.call @use_pointer(%[[ALIGNED]])
llvm.func @use_scalar(i64)
llvm.func @use_pointer(!llvm.ptr)
func.func @f(%x: memref<?xf32>, %n: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  cf.br ^loop(%zero : i64)
^loop(%i: i64):
  llvm.call @use_scalar(%n) : (i64) -> ()
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "slt" %next, %n : i64
  cf.cond_br %more, ^loop(%next : i64), ^end
^end:
  %m = builtin.unrealized_conversion_cast %x : memref<?xf32> to !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  %p = llvm.extractvalue %m[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
  llvm.call @use_pointer(%p) : (!llvm.ptr) -> ()
  return
}
