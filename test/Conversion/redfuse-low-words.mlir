// RUN: redfuse-opt %s -redfuse-lower-to-nvvm | FileCheck %s

// The low word of an f64 is moved to a register of its own: a store of 32 bits of
// the f64's register is a conversion to ptxas.

// CHECK-LABEL: llvm.func @k
// CHECK: llvm.inline_asm asm_dialect = att "mov.b64 {$0, _}, $1;", "=r,d" %{{.*}} : (f64) -> i32
// CHECK-NOT: llvm.trunc
gpu.module @redfuse_gpu {
  gpu.func @k(%x: f64, %out: memref<2xi32>) kernel {
    %c0 = arith.constant 0 : index
    %bits = arith.bitcast %x : f64 to i64
    %low = arith.trunci %bits : i64 to i32
    memref.store %low, %out[%c0] : memref<2xi32>
    gpu.return
  }
}
