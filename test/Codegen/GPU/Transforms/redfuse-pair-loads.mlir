// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(redfuse-pair-loads))" | FileCheck %s

gpu.module @redfuse_gpu {
  // CHECK-LABEL: llvm.func @halves
  // CHECK-SAME: (%[[P:.*]]: !llvm.ptr, %[[OUT:.*]]: !llvm.ptr)
  // CHECK: %[[WORD:.*]] = llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> i32
  // CHECK: %[[SHIFT:.*]] = llvm.mlir.constant(16 : i32) : i32
  // CHECK: %[[UPPER:.*]] = llvm.lshr %[[WORD]], %[[SHIFT]] : i32
  // CHECK: %[[LOW:.*]] = llvm.trunc %[[WORD]] : i32 to i16
  // CHECK: %[[FIRST:.*]] = llvm.bitcast %[[LOW]] : i16 to bf16
  // CHECK: %[[HIGH:.*]] = llvm.trunc %[[UPPER]] : i32 to i16
  // CHECK: %[[SECOND:.*]] = llvm.bitcast %[[HIGH]] : i16 to bf16
  // CHECK: llvm.fadd %[[FIRST]], %[[SECOND]] : bf16
  llvm.func @halves(%p: !llvm.ptr, %out: !llvm.ptr) {
    %zero = llvm.mlir.constant(0 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    %pair = llvm.load %p {alignment = 4 : i64} : !llvm.ptr -> vector<2xbf16>
    %low = llvm.extractelement %pair[%zero : i64] : vector<2xbf16>
    %high = llvm.extractelement %pair[%one : i64] : vector<2xbf16>
    %sum = llvm.fadd %low, %high : bf16
    llvm.store %sum, %out : bf16, !llvm.ptr
    llvm.return
  }

  // CHECK-LABEL: llvm.func @words
  // CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> i64
  // CHECK: llvm.lshr %{{.*}}, %{{.*}} : i64
  // CHECK: llvm.trunc %{{.*}} : i64 to i32
  // CHECK: llvm.bitcast %{{.*}} : i32 to f32
  llvm.func @words(%p: !llvm.ptr<3>, %out: !llvm.ptr) {
    %one = llvm.mlir.constant(1 : i32) : i32
    %pair = llvm.load %p {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
    %high = llvm.extractelement %pair[%one : i32] : vector<2xf32>
    llvm.store %high, %out : f32, !llvm.ptr
    llvm.return
  }
}
