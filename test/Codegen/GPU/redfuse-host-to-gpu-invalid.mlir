// RUN: redfuse-opt %s -redfuse-host-to-gpu -verify-diagnostics

func.func @main(%x: memref<1xindex>, %out: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{a value in the GPU's memory decides what the host does next}}
  %n = memref.load %x[%c0] : memref<1xindex>
  %a = memref.alloc(%n) : memref<?xf32>
  memref.dealloc %a : memref<?xf32>
  return
}
