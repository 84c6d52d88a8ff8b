// RUN: redfuse-opt %s -redfuse-extern-shared-memory | FileCheck %s

// CHECK: llvm.mlir.global external @shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
// CHECK: llvm.mlir.global internal @sized() {addr_space = 3 : i32} : !llvm.array<8 x i8>
gpu.module @m {
  llvm.mlir.global internal @shared() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  llvm.mlir.global internal @sized() {addr_space = 3 : i32} : !llvm.array<8 x i8>
}
