// RUN: redfuse-opt %s '-pass-pipeline=builtin.module(redfuse-attach-target{chip=gfx942},gpu.module(redfuse-convert-to-rocdl))' | FileCheck %s
// RUN: not redfuse-opt %s '-pass-pipeline=builtin.module(gpu.module(redfuse-convert-to-rocdl))' 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: expected 'redfuse.target' on the module to name a chip

// CHECK: llvm.func @k{{.*}}rocdl.kernel
// CHECK: rocdl.workitem.id.x
gpu.module @m {
  gpu.func @k(%p: !llvm.ptr) kernel {
    %i = gpu.thread_id x
    %n = arith.index_cast %i : index to i64
    llvm.store %n, %p : i64, !llvm.ptr
    gpu.return
  }
}
