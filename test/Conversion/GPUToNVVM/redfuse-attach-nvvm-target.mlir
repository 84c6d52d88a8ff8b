// RUN: redfuse-opt %s '-pass-pipeline=builtin.module(gpu.module(redfuse-attach-nvvm-target{chip=sm_80 features=+ptx80}))' | FileCheck %s
// RUN: redfuse-opt %s '-pass-pipeline=builtin.module(gpu.module(redfuse-attach-nvvm-target{opt-level=0}))' | FileCheck %s --check-prefix=LOW

// The level is that of the option.
// CHECK: gpu.module @all [#nvvm.target<O = 3, chip = "sm_80", features = "+ptx80">] {
// LOW: gpu.module @all [#nvvm.target<O = 0, chip = "sm_90a", features = "+ptx83">] {
gpu.module @all {
}

// Or a lower one, which the module asks for.
// CHECK: gpu.module @some [#nvvm.target<O = 1, chip = "sm_80", features = "+ptx80">] {
// LOW: gpu.module @some [#nvvm.target<O = 0, chip = "sm_90a", features = "+ptx83">] {
gpu.module @some attributes {redfuse.most_opt_level = 1 : i64} {
}
