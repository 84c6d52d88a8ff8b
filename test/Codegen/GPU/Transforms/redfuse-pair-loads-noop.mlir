// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(redfuse-pair-loads))" | FileCheck %s

gpu.module @redfuse_gpu {
  // A pair that may be apart, one that is used as a vector, one that others write, and more than two.
  // CHECK-LABEL: llvm.func @others
  // CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<2xbf16>
  // CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<2xbf16>
  // CHECK: llvm.load volatile %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<2xbf16>
  // CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> vector<4xbf16>
  // CHECK-NOT: llvm.trunc
  llvm.func @others(%p: !llvm.ptr, %at: i64, %out: !llvm.ptr) {
    %one = llvm.mlir.constant(1 : i64) : i64
    %apart = llvm.load %p : !llvm.ptr -> vector<2xbf16>
    %a = llvm.extractelement %apart[%one : i64] : vector<2xbf16>
    %vector = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<2xbf16>
    %b = llvm.extractelement %vector[%at : i64] : vector<2xbf16>
    %shared = llvm.load volatile %p {alignment = 4 : i64} : !llvm.ptr -> vector<2xbf16>
    %c = llvm.extractelement %shared[%one : i64] : vector<2xbf16>
    %four = llvm.load %p {alignment = 8 : i64} : !llvm.ptr -> vector<4xbf16>
    %d = llvm.extractelement %four[%one : i64] : vector<4xbf16>
    %e = llvm.fadd %a, %b : bf16
    %f = llvm.fadd %c, %d : bf16
    %g = llvm.fadd %e, %f : bf16
    llvm.store %g, %out : bf16, !llvm.ptr
    llvm.return
  }
}
