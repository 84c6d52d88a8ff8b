// RUN: redfuse-opt %s -redfuse-lower-device-launches | FileCheck %s
// RUN: redfuse-opt %s -redfuse-lower-device-launches=host-alone | FileCheck %s --check-prefix=ALONE
// RUN: redfuse-opt %s -redfuse-lower-device-launches -convert-func-to-llvm -finalize-memref-to-llvm -convert-arith-to-llvm -reconcile-unrealized-casts -redfuse-lower-launches | FileCheck %s --check-prefix=LLVM

// CHECK-LABEL: func.func @main
// CHECK: call @k__launch(%{{.+}}, %{{.+}}, %{{.+}}, %arg0) {redfuse.device = "k"}
// CHECK-NOT: gpu.module
// Binaries stay where nobody has them.
// CHECK: gpu.binary @made
// CHECK: func.func private @k__launch(index, index, index, memref<8xf32>) attributes {redfuse.device = "k"}

// ALONE: call @k__launch
// ALONE-NOT: gpu.binary

// LLVM: llvm.mlir.global internal constant @k__name("k\00")
// LLVM: llvm.func @redfuse_rt_device_launch(!llvm.ptr, i64, i64, i64, !llvm.ptr)
// LLVM: llvm.call @redfuse_rt_device_launch(
module attributes {gpu.container_module} {
  func.func @main(%x: memref<8xf32>) {
    %one = arith.constant 1 : index
    %threads = arith.constant 32 : index
    %shared = arith.constant 64 : i32
    gpu.launch_func @m::@k blocks in (%one, %one, %one) threads in (%threads, %one, %one)
      dynamic_shared_memory_size %shared args(%x : memref<8xf32>)
    return
  }
  gpu.module @m {
    gpu.func @k(%x: memref<8xf32>) kernel {
      gpu.return
    }
  }
  gpu.binary @made [#gpu.object<#nvvm.target, assembly = "text">]
}
