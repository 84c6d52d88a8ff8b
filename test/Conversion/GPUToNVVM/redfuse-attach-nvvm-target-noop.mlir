// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s '-pass-pipeline=builtin.module(gpu.module(redfuse-attach-nvvm-target))' | diff %t.before -
// Another level is written over the one that is there:
// RUN: redfuse-opt %s '-pass-pipeline=builtin.module(gpu.module(redfuse-attach-nvvm-target{opt-level=2}))' \
// RUN:   | not diff %t.before -

module attributes {redfuse.target = #redfuse.target<"cuda", units = 132, vector_bits = 128, l1 = 233472,
    l2 = 52428800, flops = 100, bandwidth = 3000, launch_ns = 3000, chip = "sm_90a">} {
  // A module that has the target already, and whose bytes are no 8-bit floats.
  gpu.module @same [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx81">] attributes
      {llvm.data_layout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"} {
    gpu.func @k(%x: memref<8xi8>, %y: memref<8xf16>) kernel { gpu.return }
  }

  // A module of 8-bit floats that has the later PTX version already.
  gpu.module @small [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx84">] attributes
      {llvm.data_layout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"} {
    gpu.func @k(%x: memref<8xf8E4M3FN>) kernel { gpu.return }
  }

  // A function of the host that is beside them: it gets no target.
  func.func @host(%x: memref<8xf8E4M3FN>) {
    return
  }
}
