// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(llvm.func(redfuse-relax-atomics)))" | FileCheck %s

gpu.module @redfuse_gpu {
  // What was there is read, and may tell that others have written; a scope is somebody's choice.
  // CHECK-LABEL: llvm.func @others
  // CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} acq_rel : !llvm.ptr<1>, i32
  // CHECK: llvm.atomicrmw uinc_wrap %{{.*}}, %{{.*}} syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.func @others(%p: !llvm.ptr<1>, %v: i32, %q: !llvm.ptr<1>) {
    %old = llvm.atomicrmw add %p, %v acq_rel : !llvm.ptr<1>, i32
    llvm.store %old, %q : i32, !llvm.ptr<1>
    %turn = llvm.atomicrmw uinc_wrap %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
    llvm.return
  }
}
