// RUN: redfuse-opt %s '-pass-pipeline=builtin.module(redfuse-attach-target{chip=sm_80},gpu.module(redfuse-attach-nvvm-target{opt-level=2}))' | FileCheck %s --check-prefix=SM80
// RUN: redfuse-opt %s '-pass-pipeline=builtin.module(redfuse-attach-target{chip=sm_90a},gpu.module(redfuse-attach-nvvm-target))' | FileCheck %s --check-prefix=SM90A
// RUN: redfuse-opt %s '-pass-pipeline=builtin.module(redfuse-attach-target{chip=sm_90a},gpu.module(redfuse-attach-nvvm-target{opt-level=0}))' | FileCheck %s --check-prefix=LOW
// RUN: not redfuse-opt %s '-pass-pipeline=builtin.module(gpu.module(redfuse-attach-nvvm-target))' 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: expected 'redfuse.target' on the module to name a chip (sm_80, {{.*}}): redfuse-attach-target=chip=... puts it there

// The level is that of the option.
// SM80: gpu.module @plain [#nvvm.target<chip = "sm_80", features = "+ptx80">] attributes {llvm.data_layout = "{{.*}}-i64:64-{{.*}}"}
// SM90A: gpu.module @plain [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx81">]
gpu.module @plain {
  gpu.func @k(%x: memref<8xf16>) kernel { gpu.return }
}

// Products of 8-bit floats are in a later PTX version, where the chip has them.
// SM80: gpu.module @small [#nvvm.target<chip = "sm_80", features = "+ptx80">]
// SM90A: gpu.module @small [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx84">]
gpu.module @small {
  gpu.func @k(%x: memref<8xf8E4M3FN>) kernel { gpu.return }
}

// Or a lower level, which the module asks for.
// SM80: gpu.module @some [#nvvm.target<O = 1, chip = "sm_80", features = "+ptx80">] attributes {llvm.data_layout = "{{.*}}"} {
// LOW: gpu.module @some [#nvvm.target<O = 0, chip = "sm_90a", features = "+ptx81">] attributes {llvm.data_layout = "{{.*}}"} {
gpu.module @some attributes {redfuse.most_opt_level = 1 : i64} {
}
