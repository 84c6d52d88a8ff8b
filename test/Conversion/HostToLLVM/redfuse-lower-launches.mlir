// RUN: redfuse-opt %s --redfuse-lower-launches | FileCheck %s

// CHECK: llvm.func @redfuse_rt_parallel_for(!llvm.ptr, !llvm.ptr, i64)
llvm.func internal @k(%begin: i64, %end: i64, %x: !llvm.ptr, %n: i64) {
  llvm.return
}

// The structure holds the first block and what comes after begin and end; it is
// in the entry block, the launch in a loop.
// CHECK-LABEL: llvm.func @f
// CHECK: %[[CONTEXT:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(i64, ptr, i64)>
// CHECK: ^bb1:
// CHECK-COUNT-3: llvm.store
// CHECK: %[[BLOCKS:.*]] = llvm.sub %arg3, %arg2
// CHECK: %[[BODY:.*]] = llvm.mlir.addressof @k__body
// CHECK: llvm.call @redfuse_rt_parallel_for(%[[BODY]], %[[CONTEXT]], %[[BLOCKS]])
// A call without the attribute stays.
// CHECK: llvm.call @k(%arg2, %arg3, %arg0, %arg1)
llvm.func @f(%x: !llvm.ptr, %n: i64, %begin: i64, %end: i64) {
  llvm.br ^bb1
^bb1:
  llvm.call @k(%begin, %end, %x, %n) {redfuse.parallel} : (i64, i64, !llvm.ptr, i64) -> ()
  llvm.call @k(%begin, %end, %x, %n) : (i64, i64, !llvm.ptr, i64) -> ()
  llvm.br ^bb1
}

// Launches of one kernel share its body, and those in one function the place of their
// arguments: which of a thousand are the same is not for LLVM to find.
// CHECK-LABEL: llvm.func @twice
// CHECK-COUNT-1: llvm.alloca
// CHECK-NOT: llvm.alloca
// CHECK: %[[FIRST:.*]] = llvm.mlir.addressof @k__body
// CHECK: llvm.call @redfuse_rt_parallel_for(%[[FIRST]],
// CHECK: llvm.store %arg1
// CHECK: %[[SECOND:.*]] = llvm.mlir.addressof @k__body :
// CHECK: llvm.call @redfuse_rt_parallel_for(%[[SECOND]],
llvm.func @twice(%x: !llvm.ptr, %y: !llvm.ptr, %n: i64, %begin: i64, %end: i64) {
  llvm.call @k(%begin, %end, %x, %n) {redfuse.parallel} : (i64, i64, !llvm.ptr, i64) -> ()
  llvm.call @k(%begin, %end, %y, %n) {redfuse.parallel} : (i64, i64, !llvm.ptr, i64) -> ()
  llvm.return
}

// CHECK-LABEL: llvm.func internal @k__body
// CHECK-SAME: (%[[C:.*]]: !llvm.ptr {llvm.noalias, llvm.readonly}, %[[B:.*]]: i64, %[[E:.*]]: i64)
// CHECK: %[[FIRST:.*]] = llvm.load
// CHECK: %[[FROM:.*]] = llvm.add %[[B]], %[[FIRST]]
// CHECK: %[[TO:.*]] = llvm.add %[[E]], %[[FIRST]]
// CHECK: %[[X:.*]] = llvm.load
// CHECK: %[[N:.*]] = llvm.load
// CHECK: llvm.call @k(%[[FROM]], %[[TO]], %[[X]], %[[N]])
// CHECK-NOT: llvm.func internal @k__body
