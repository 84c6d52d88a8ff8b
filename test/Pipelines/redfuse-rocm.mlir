// From what PyTorch exported to an AMD GPU's machine code, in one command; and what is said where
// there is no Python, or none with a code generator.
// RUN: not env PATH=/nowhere %compiler %tests/e2e/corpus/softmax.mlir -redfuse-attach-target=chip=gfx942 -redfuse-rocm=format=bin 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: no code for an AMD GPU without Python: python3 was not found; expected one that has redfuse[rocm]
// RUN: not redfuse-opt %tests/e2e/corpus/softmax.mlir -redfuse-attach-target=chip=gfx942 -redfuse-rocm=format=fatbin 2>&1 | FileCheck %s --check-prefix=FORMAT
// FORMAT: option 'format': expected isa, bin, llvm; got 'fatbin'

// RUN: %if rocm %{ redfuse-opt %tests/e2e/corpus/softmax.mlir -redfuse-attach-target=chip=gfx942 -redfuse-rocm 2> /dev/null | FileCheck %s --check-prefixes=CHECK,ISA %}
// RUN: %if rocm %{ redfuse-opt %tests/e2e/corpus/softmax.mlir -redfuse-attach-target=chip=gfx942 -redfuse-rocm=format=bin 2> /dev/null | FileCheck %s --check-prefixes=CHECK,BIN %}
// ISA: gpu.binary @redfuse_gpu [#gpu.object<#rocdl.target<O = 3, chip = "gfx942">, assembly = "{{.*}}.amdgcn_target \22amdgcn-amd-amdhsa--gfx942\22
// BIN: gpu.binary @redfuse_gpu [#gpu.object<#rocdl.target<O = 3, chip = "gfx942">, bin = "\7FELF
// CHECK: llvm.func @main__packed
