// RUN: redfuse-opt %s -o %t.before
// RUN: redfuse-opt %s -redfuse-lower-device-launches | diff %t.before -
// RUN: redfuse-opt %s -redfuse-lower-device-launches=host-alone | FileCheck %s

// A binary of kernels that nobody launches here: it goes only where the caller has it.
// CHECK-NOT: gpu.binary
gpu.binary @made [#gpu.object<#nvvm.target, assembly = "text">]

// Calls of functions that are launched in no other way than by a call.
// CHECK-LABEL: func.func @main
// CHECK:         call @k__launch(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {redfuse.device = "k"}
// CHECK-NEXT:    call @k__launch(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) :
// CHECK-NEXT:    return
func.func @main(%n: index, %x: memref<8xf32>) {
  call @k__launch(%n, %n, %n, %x) {redfuse.device = "k"} : (index, index, index, memref<8xf32>) -> ()
  call @k__launch(%n, %n, %n, %x) : (index, index, index, memref<8xf32>) -> ()
  return
}
func.func private @k__launch(index, index, index, memref<8xf32>) attributes {redfuse.device = "k"}
