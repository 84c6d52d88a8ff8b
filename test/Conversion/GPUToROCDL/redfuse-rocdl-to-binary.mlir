// RUN: %if rocm %{ redfuse-opt %s -redfuse-attach-target=chip=gfx1100 -redfuse-rocdl-to-binary=opt-level=2 | FileCheck %s %}
// RUN: not redfuse-opt %s -redfuse-attach-target=chip=gfx1100 -redfuse-rocdl-to-binary=python=/nowhere 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not redfuse-opt %s -redfuse-attach-target=chip=gfx1100 -redfuse-rocdl-to-binary=format=fatbin 2>&1 | FileCheck %s --check-prefix=FORMAT

// RUN: redfuse-opt %s -redfuse-attach-target=chip=gfx1100 -redfuse-rocdl-to-binary=format=llvm | FileCheck %s --check-prefix=LLVM

// LLVM IR takes no tool.
// LLVM: gpu.binary @kernels [#gpu.object<#rocdl.target<{{.*}}chip = "gfx1100">, offload = "{{.*}}define amdgpu_kernel void @store_seven(

// NONE: error: no code for an AMD GPU without Python: /nowhere was not found
// FORMAT: error: option 'format': expected isa, bin or llvm; got 'fatbin'

// Kernels become assembly; nothing else of the module changes.
// CHECK-NOT: gpu.module
// CHECK: gpu.binary @kernels [#gpu.object<#rocdl.target<chip = "gfx1100">, assembly = "{{.*}}.globl\09store_seven
// CHECK: func.func @host
gpu.module @kernels {
  llvm.func @store_seven(%p: !llvm.ptr<1>) attributes {gpu.kernel, rocdl.kernel} {
    %c = llvm.mlir.constant(7 : i32) : i32
    llvm.store %c, %p : i32, !llvm.ptr<1>
    llvm.return
  }
}
func.func @host() {
  return
}
