// RUN: redfuse-opt %s -redfuse-lower-device-libraries | FileCheck %s

// What the device libraries would say is read from the words behind the arguments.

// CHECK-LABEL: llvm.func @sizes
// CHECK: %[[WORDS:.*]] = llvm.call_intrinsic "llvm.amdgcn.implicitarg.ptr"() : () -> !llvm.ptr<4>
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[WORDS]][4] : (!llvm.ptr<4>) -> !llvm.ptr<4>, i8
// CHECK: %[[COUNT:.*]] = llvm.load %[[AT]] : !llvm.ptr<4> -> i32
// CHECK: %[[BLOCKS:.*]] = llvm.zext %[[COUNT]] : i32 to i64
// CHECK: llvm.getelementptr %{{.*}}[12]
// CHECK: %[[SIZE:.*]] = llvm.load %{{.*}} : !llvm.ptr<4> -> i16
// CHECK: %[[THREADS:.*]] = llvm.zext %[[SIZE]] : i16 to i64
// CHECK: llvm.add %[[BLOCKS]], %[[THREADS]] : i64
llvm.func @sizes() -> i64 {
  %blocks = rocdl.grid.dim.y : i64
  %threads = rocdl.workgroup.dim.x : i64
  %sum = llvm.add %blocks, %threads : i64
  llvm.return %sum : i64
}

// CHECK-LABEL: llvm.func @scopes
// CHECK: llvm.fence syncscope("agent") acq_rel
// CHECK: llvm.fence syncscope("workgroup") acq_rel
// CHECK: llvm.atomicrmw add %{{.*}} syncscope("agent") monotonic
llvm.func @scopes(%p: !llvm.ptr, %n: i32) {
  llvm.fence syncscope("device") acq_rel
  llvm.fence syncscope("workgroup") acq_rel
  %old = llvm.atomicrmw add %p, %n syncscope("device") monotonic : !llvm.ptr, i32
  llvm.return
}
