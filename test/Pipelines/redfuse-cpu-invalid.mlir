// RUN: not redfuse-opt %s -redfuse-cpu=stages=fold 2>&1 | FileCheck %s
// CHECK: 'redfuse-cpu' has no stage 'fold'; expected one of check, normalize, raise, fuse, schedule, derive, outline, bufferize, share, generate, llvm
// RUN: not redfuse-opt %s -redfuse-cuda 2>&1 | FileCheck %s --check-prefix=CHIP
// CHIP: which architecture? Say chip=sm_90a, for example
