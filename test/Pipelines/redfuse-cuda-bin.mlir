// From what PyTorch exported to a cubin, in one command; and what is said where there is no ptxas.
// RUN: not env PATH=/nowhere CUDA_ROOT=/nowhere %compiler %tests/e2e/corpus/softmax.mlir -redfuse-attach-target=chip=sm_90a -redfuse-cuda=format=bin 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: Couldn't find the `ptxas` binary
// RUN: not redfuse-opt %tests/e2e/corpus/softmax.mlir -redfuse-attach-target=chip=sm_90a -redfuse-cuda=format=cubin 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: option 'format': expected isa, bin, fatbin; got 'cubin'

// RUN: %if ptxas %{ redfuse-opt %tests/e2e/corpus/softmax.mlir -redfuse-attach-target=chip=sm_90a -redfuse-cuda=format=bin 2> /dev/null | FileCheck %s %}
// CHECK: gpu.binary @redfuse_gpu [#gpu.object<#nvvm.target<{{.*}}chip = "sm_90a"{{.*}}bin = "\7FELF
// CHECK: llvm.func @main__packed
