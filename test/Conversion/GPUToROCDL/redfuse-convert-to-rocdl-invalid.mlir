// RUN: redfuse-opt %s '-pass-pipeline=builtin.module(redfuse-attach-target{chip=gfx942},gpu.module(redfuse-convert-to-rocdl))' -verify-diagnostics

gpu.module @m {
  gpu.func @turn(%x: f32, %out: memref<f32>) kernel {
    // expected-error @below {{math.cos of 'f32' has no lowering without ROCm's device libraries; compute it for another target}}
    %y = math.cos %x : f32
    memref.store %y, %out[] : memref<f32>
    gpu.return
  }
  gpu.func @grow(%x: f64, %out: memref<f64>) kernel {
    // expected-error @below {{llvm.intr.exp of 'f64' has no lowering without ROCm's device libraries; compute it in f32, or for another target}}
    %y = llvm.intr.exp(%x) : (f64) -> f64
    memref.store %y, %out[] : memref<f64>
    gpu.return
  }
}
