// RUN: redfuse-opt %s --redfuse-lower-runtime --split-input-file | FileCheck %s

// An assertion reports and leaves; the rest goes on in a block of its own.
// CHECK: func.func private @redfuse_rt_fail(!llvm.ptr)
// CHECK: llvm.mlir.global internal constant @redfuse_message_0("sizes differ\00")
// CHECK-LABEL: func.func @asserts
// CHECK: cf.cond_br %arg0, ^[[REST:.*]], ^[[LEAVE:.*]]
// CHECK: ^[[REST]]:
// CHECK: memref.store
// CHECK: ^[[LEAVE]]:
// CHECK: %[[TEXT:.*]] = llvm.mlir.addressof @redfuse_message_0
// CHECK: call @redfuse_rt_fail(%[[TEXT]])
// CHECK-NEXT: return
// CHECK-NOT: cf.assert
func.func @asserts(%ok: i1, %x: memref<f32>, %v: f32) {
  cf.assert %ok, "sizes differ"
  memref.store %v, %x[] : memref<f32>
  return
}

// -----

// The caller of a function that may fail leaves too; a result is not used then.
// CHECK-LABEL: func.func private @checked
// CHECK: %[[NONE:.*]] = ub.poison : index
// CHECK: return %[[NONE]]
func.func private @checked(%n: index) -> index {
  %c1 = arith.constant 1 : index
  %ok = arith.cmpi sge, %n, %c1 : index
  cf.assert %ok, "empty"
  return %n : index
}
// CHECK-LABEL: func.func @calls
// CHECK: call @checked
// CHECK: %[[FAILED:.*]] = call @redfuse_rt_failed() : () -> i1
// CHECK: %[[OK:.*]] = arith.xori %[[FAILED]]
// CHECK: cf.cond_br %[[OK]]
func.func @calls(%n: index, %x: memref<index>) {
  %m = call @checked(%n) : (index) -> index
  memref.store %m, %x[] : memref<index>
  return
}

// -----

// CHECK-LABEL: func.func @allocates
// A product of extents that wraps around asks for more memory than there is.
// CHECK-DAG: %[[MOST:.*]] = llvm.mlir.constant(9223372036854775807 : i64)
// CHECK: %[[COUNT:.*]] = arith.maxsi
// CHECK: "llvm.intr.smul.with.overflow"({{.*}}, %[[COUNT]])
// CHECK: %[[WRAPS:.*]] = arith.ori
// CHECK: %[[BYTES:.*]] = arith.select %[[WRAPS]], %[[MOST]]
// CHECK: %[[MEMORY:.*]] = call @redfuse_rt_alloc(%[[BYTES]]) : (i64) -> !llvm.ptr
// CHECK: %[[NULL:.*]] = llvm.mlir.zero
// CHECK: %[[OK:.*]] = llvm.icmp "ne" %[[MEMORY]], %[[NULL]]
// CHECK: cf.cond_br %[[OK]]
// CHECK: call @redfuse_rt_free
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.dealloc
func.func @allocates(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %t = memref.alloc(%n) {alignment = 64 : i64} : memref<?x4xf32>
  memref.store %v, %t[%c0, %c0] : memref<?x4xf32>
  memref.dealloc %t : memref<?x4xf32>
  return
}

// -----

// CHECK-NOT: redfuse_rt_scratch_view
// CHECK-LABEL: func.func @scratch
// CHECK: call @redfuse_rt_scratch({{.*}}) : (i64) -> !llvm.ptr
// CHECK: unrealized_conversion_cast {{.*}} to memref<?xi8>
func.func private @redfuse_rt_scratch_view(index) -> memref<?xi8>
func.func @scratch(%n: index, %v: i8) {
  %c0 = arith.constant 0 : index
  %t = call @redfuse_rt_scratch_view(%n) : (index) -> memref<?xi8>
  memref.store %v, %t[%c0] : memref<?xi8>
  return
}

// -----

// Static stack memory does not grow in loops.
// CHECK-LABEL: func.func @stack
// CHECK-NEXT: memref.alloca
// CHECK: cf.br
func.func @stack(%v: f32) {
  %c0 = arith.constant 0 : index
  cf.br ^bb1
^bb1:
  %t = memref.alloca() : memref<4xf32>
  memref.store %v, %t[%c0] : memref<4xf32>
  cf.br ^bb1
}

// -----

// The copy of a constant on the GPU.
// CHECK-LABEL: func.func @constant
// CHECK: %[[HOST:.+]] = memref.get_global @values : memref<3xf32>
// CHECK: memref.extract_aligned_pointer_as_index %[[HOST]]
// CHECK: %[[POINTER:.+]] = llvm.inttoptr
// CHECK: %[[COPY:.+]] = call @redfuse_rt_device_constant(%{{.+}}, %[[POINTER]])
// CHECK: llvm.icmp "ne" %[[COPY]]
memref.global "private" constant @values : memref<3xf32> = dense<[1.0, 2.0, 3.0]>
func.func @constant() -> memref<3xf32> {
  %0 = memref.alloc() {redfuse.constant = @values} : memref<3xf32>
  return %0 : memref<3xf32>
}

// -----

// What has no result divides by 1: a processor would end the process. Extents and
// known divisors are left alone.
// CHECK-LABEL: func @divisions
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %arg1
// CHECK: %[[MINUS:.*]] = arith.cmpi eq, %arg1
// CHECK: %[[LEAST:.*]] = arith.cmpi eq, %arg0
// CHECK: %[[OVER:.*]] = arith.andi %[[MINUS]], %[[LEAST]]
// CHECK: %[[BAD:.*]] = arith.ori %[[ZERO]], %[[OVER]]
// CHECK: %[[BY:.*]] = arith.select %[[BAD]], %{{.*}}, %arg1
// CHECK: arith.divsi %arg0, %[[BY]]
// CHECK: arith.divsi %arg0, %c7_i32
// CHECK: %[[GUARDED:.*]] = arith.select %{{.*}}, %{{.*}}, %arg2 : index
// CHECK: arith.divsi %arg2, %[[GUARDED]]
func.func @divisions(%a: i32, %b: i32, %n: index) -> (i32, i32, index) {
  %c7 = arith.constant 7 : i32
  %q = arith.divsi %a, %b : i32
  %r = arith.divsi %a, %c7 : i32
  %s = arith.divsi %n, %n : index
  return %q, %r, %s : i32, i32, index
}

// -----

// One number that is a resource is one in the text; of several it stays.
// CHECK: memref.global "private" constant @one : memref<f32> = dense<1.500000e+00>
// CHECK: memref.global "private" constant @two : memref<2xf32> = dense_resource<weights>
memref.global "private" constant @one : memref<f32> = dense_resource<weight>
memref.global "private" constant @two : memref<2xf32> = dense_resource<weights>

{-#
  dialect_resources: {
    builtin: {
      weight: "0x040000000000C03F",
      weights: "0x040000000000C03F0000C03F"
    }
  }
#-}
