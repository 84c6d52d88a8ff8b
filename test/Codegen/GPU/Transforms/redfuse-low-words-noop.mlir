// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(redfuse-low-words))" | FileCheck %s

// Integers, other widths and high words are as LLVM makes them.

gpu.module @redfuse_gpu {
  // CHECK-LABEL: llvm.func @others
  // CHECK-NOT: inline_asm
  // CHECK: llvm.trunc %{{.*}} : i64 to i32
  // CHECK-NEXT: llvm.bitcast
  // CHECK-NEXT: llvm.trunc %{{.*}} : i64 to i16
  // CHECK: llvm.lshr
  // CHECK-NEXT: llvm.trunc %{{.*}} : i64 to i32
  // CHECK: llvm.trunc %{{.*}} : vector<2xi64> to vector<2xi32>
  // CHECK-NOT: inline_asm
  llvm.func @others(%n: i64, %x: f64, %v: vector<2xf64>) -> !llvm.struct<(i32, i16, i32, vector<2xi32>)> {
    %s0 = llvm.mlir.poison : !llvm.struct<(i32, i16, i32, vector<2xi32>)>
    %a = llvm.trunc %n : i64 to i32
    %bits = llvm.bitcast %x : f64 to i64
    %b = llvm.trunc %bits : i64 to i16
    %by = llvm.mlir.constant(32 : i64) : i64
    %shifted = llvm.lshr %bits, %by : i64
    %c = llvm.trunc %shifted : i64 to i32
    %words = llvm.bitcast %v : vector<2xf64> to vector<2xi64>
    %d = llvm.trunc %words : vector<2xi64> to vector<2xi32>
    %s1 = llvm.insertvalue %a, %s0[0] : !llvm.struct<(i32, i16, i32, vector<2xi32>)>
    %s2 = llvm.insertvalue %b, %s1[1] : !llvm.struct<(i32, i16, i32, vector<2xi32>)>
    %s3 = llvm.insertvalue %c, %s2[2] : !llvm.struct<(i32, i16, i32, vector<2xi32>)>
    %s4 = llvm.insertvalue %d, %s3[3] : !llvm.struct<(i32, i16, i32, vector<2xi32>)>
    llvm.return %s4 : !llvm.struct<(i32, i16, i32, vector<2xi32>)>
  }
}
