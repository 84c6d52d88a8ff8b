// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s '-pass-pipeline=builtin.module(gpu.module(redfuse-convert-to-rocdl))' | diff %t.before -

module attributes {redfuse.target = #redfuse.target<"rocm", units = 304, vector_bits = 512, l1 = 65536,
    l2 = 524288, flops = 81700, bandwidth = 5300, launch_ns = 5000, chip = "gfx942">} {
  // A module that says by itself how its memory is laid out.
  gpu.module @m attributes {llvm.data_layout = "e-p5:32:32"} {
    // A kernel that is one of ROCDL already.
    llvm.func @k(%p: !llvm.ptr<1>, %x: f32) attributes {gpu.kernel, rocdl.kernel} {
      %i = rocdl.workitem.id.x : i32
      %q = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
      llvm.store %x, %q : f32, !llvm.ptr<1>
      llvm.return
    }
    // Functions for which LLVM has code of its own, without ROCm's device libraries.
    llvm.func @functions(%x: f32, %y: f64) -> f64 {
      %e = llvm.intr.exp(%x) : (f32) -> f32
      %l = llvm.intr.log(%e) : (f32) -> f32
      %w = llvm.fpext %l : f32 to f64
      %s = llvm.intr.sqrt(%y) : (f64) -> f64
      %r = llvm.fadd %w, %s : f64
      llvm.return %r : f64
    }
  }

  // What is not in a module of the device: it may compute a sine.
  func.func @host(%x: f32) -> f32 {
    %y = math.sin %x : f32
    return %y : f32
  }
}
