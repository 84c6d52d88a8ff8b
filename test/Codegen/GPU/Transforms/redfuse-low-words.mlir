// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(redfuse-low-words))" | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-lower-to-nvvm | FileCheck %s --check-prefix=WHOLE

// The low word of an f64 is moved to a register of its own: a store of 32 bits of
// the f64's register is a conversion to ptxas.

gpu.module @redfuse_gpu {
  // CHECK-LABEL: llvm.func @words
  // CHECK-SAME: (%[[X:.*]]: f64, %[[OUT:.*]]: !llvm.ptr)
  // CHECK: %[[LOW:.*]] = llvm.inline_asm asm_dialect = att "mov.b64 {$0, _}, $1;", "=r,d" %[[X]] : (f64) -> i32
  // CHECK: llvm.store %[[LOW]], %[[OUT]]
  // CHECK-NOT: llvm.trunc
  llvm.func @words(%x: f64, %out: !llvm.ptr) {
    %bits = llvm.bitcast %x : f64 to i64
    %low = llvm.trunc %bits : i64 to i32
    llvm.store %low, %out : i32, !llvm.ptr
    llvm.return
  }

  // What the pass is for, from above.
  // WHOLE-LABEL: llvm.func @k
  // WHOLE: llvm.inline_asm asm_dialect = att "mov.b64 {$0, _}, $1;", "=r,d" %{{.*}} : (f64) -> i32
  // WHOLE-NOT: llvm.trunc
  gpu.func @k(%x: f64, %out: memref<2xi32>) kernel {
    %c0 = arith.constant 0 : index
    %bits = arith.bitcast %x : f64 to i64
    %low = arith.trunci %bits : i64 to i32
    memref.store %low, %out[%c0] : memref<2xi32>
    gpu.return
  }
}
