// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-extern-shared-memory | diff %t.before -

// Arrays whose size is known, and memory of another kind.
gpu.module @kernels {
  llvm.mlir.global internal @known() {addr_space = 3 : i32} : !llvm.array<8 x f32>
  llvm.mlir.global internal @global() {addr_space = 1 : i32} : !llvm.array<0 x f32>
}
