// From what PyTorch exported to PTX, and the host's part beside it.
// RUN: redfuse-opt %tests/e2e/corpus/sdpa.mlir -redfuse-attach-target=chip=sm_90a -redfuse-cuda 2> /dev/null | FileCheck %s
// CHECK: gpu.binary @redfuse_gpu {{.*}}.entry main_0
// CHECK: llvm.func @main__packed

// Its kernels run, on a simulator, launched by the host's part.
// RUN: redfuse-opt %tests/e2e/corpus/softmax.mlir -redfuse-attach-target=chip=sm_90a -redfuse-cuda 2> /dev/null \
// RUN:   | %python %S/Inputs/run.py %tests/e2e/corpus/softmax.mlir sm_90a | FileCheck %s --check-prefix=RAN
// RAN: launched: main_0
// RAN-NEXT: softmax.mlir: 1 results are right
