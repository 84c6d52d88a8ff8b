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

  // Roundings to integers are instructions, not functions of a library.
  // CHECK: llvm.func @rounded
  // CHECK: llvm.call_intrinsic "llvm.floor"(%{{.*}}) : (f32) -> f32
  // CHECK: llvm.call_intrinsic "llvm.ceil"(%{{.*}}) : (vector<2xf64>) -> vector<2xf64>
  gpu.func @rounded(%x: f32, %y: vector<2xf64>, %p: !llvm.ptr, %q: !llvm.ptr) kernel {
    %down = llvm.intr.floor(%x) : (f32) -> f32
    %up = llvm.intr.ceil(%y) : (vector<2xf64>) -> vector<2xf64>
    llvm.store %down, %p : f32, !llvm.ptr
    llvm.store %up, %q : vector<2xf64>, !llvm.ptr
    gpu.return
  }
}
