// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(llvm.func(redfuse-relax-atomics)))" | FileCheck %s

gpu.module @redfuse_gpu {
  // CHECK-LABEL: llvm.func @counted
  // CHECK: llvm.atomicrmw max %{{.*}}, %{{.*}} syncscope("device") monotonic : !llvm.ptr<1>, i32
  llvm.func @counted(%p: !llvm.ptr<1>, %v: i32) {
    %old = llvm.atomicrmw max %p, %v acq_rel : !llvm.ptr<1>, i32
    llvm.return
  }
}
