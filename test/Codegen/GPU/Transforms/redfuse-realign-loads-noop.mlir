// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(llvm.func(redfuse-realign-loads)))" | FileCheck %s

gpu.module @redfuse_gpu {
  // One that is aligned, one of 8 bytes, one of shared memory, one that others write.
  // CHECK-LABEL: llvm.func @others
  // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  // CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<2xf32>
  // CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> vector<4xf32>
  // CHECK: llvm.load volatile %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
  // CHECK-NOT: llvm.load
  llvm.func @others(%p: !llvm.ptr, %shared: !llvm.ptr<3>, %out: !llvm.ptr) {
    %a = llvm.load %p {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
    %b = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<2xf32>
    %c = llvm.load %shared {alignment = 4 : i64} : !llvm.ptr<3> -> vector<4xf32>
    %d = llvm.load volatile %p {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
    %e = llvm.fadd %a, %c : vector<4xf32>
    %f = llvm.fadd %e, %d : vector<4xf32>
    llvm.store %f, %out {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
    llvm.store %b, %out {alignment = 8 : i64} : vector<2xf32>, !llvm.ptr
    llvm.return
  }
}
