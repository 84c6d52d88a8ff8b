// RUN: not redfuse-opt %s -redfuse-cpu=stages=fold 2>&1 | FileCheck %s
// CHECK: 'redfuse-cpu' has no stage 'fold'; expected one of check, normalize, raise, fuse, schedule, derive, outline, bufferize, share, plan, generate, llvm
// RUN: not redfuse-opt %s -redfuse-cuda 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: expected 'redfuse.target' on the module to name a chip
gpu.module @kernels {}
