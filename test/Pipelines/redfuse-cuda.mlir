// From what PyTorch exported to PTX, and the host's part beside it.
// RUN: redfuse-opt %tests/e2e/corpus/sdpa.mlir -redfuse-attach-target=chip=sm_90a -redfuse-cuda 2> /dev/null | FileCheck %s
// CHECK: gpu.binary @redfuse_gpu {{.*}}.entry main_0
// CHECK: llvm.func @main__packed
