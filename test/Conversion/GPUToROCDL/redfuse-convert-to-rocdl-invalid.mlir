// RUN: redfuse-opt %s '-pass-pipeline=builtin.module(redfuse-attach-target{chip=gfx942},gpu.module(redfuse-convert-to-rocdl))' -verify-diagnostics

gpu.module @m {
  gpu.func @turn(%x: f32, %out: memref<f32>) kernel {
    // expected-error @below {{cos of 'f32' has no lowering without ROCm's device libraries; compute it for another target}}
    %y = math.cos %x : f32
    memref.store %y, %out[] : memref<f32>
    gpu.return
  }
}
