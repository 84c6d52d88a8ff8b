// RUN: redfuse-opt %s -redfuse-reuse-values -cse -split-input-file | FileCheck %s

// An input that is only read is loaded once; what the thread stored in a tile is
// still in a register after the barrier; the tile itself goes.

// CHECK-LABEL: gpu.func @reuse
// CHECK: %[[V:.+]] = memref.load %{{.+}} : memref<256xf32>
// CHECK-NOT: memref.load
// CHECK-NOT: memref.view
// CHECK: %[[S:.+]] = arith.addf %[[V]], %[[V]]
// CHECK: gpu.barrier
// CHECK: %[[T:.+]] = arith.mulf %[[S]], %[[V]]
// CHECK: memref.store %[[T]]
gpu.module @m {
  gpu.func @reuse(%x: memref<256xf32>, %out: memref<256xf32>) kernel attributes {redfuse.reuse} {
    %c0 = arith.constant 0 : index
    %i = gpu.thread_id x
    %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %shared[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<256xf32, #gpu.address_space<workgroup>>
    %a = memref.load %x[%i] : memref<256xf32>
    %s = arith.addf %a, %a : f32
    memref.store %s, %tile[%i] : memref<256xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %b = memref.load %x[%i] : memref<256xf32>
    %t = memref.load %tile[%i] : memref<256xf32, #gpu.address_space<workgroup>>
    %m = arith.mulf %t, %b : f32
    memref.store %m, %out[%i] : memref<256xf32>
    gpu.return
  }
}

// -----

// Another thread's element, and a tile that was written again, are read.

// CHECK-LABEL: gpu.func @keep
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: memref.load
gpu.module @m {
  gpu.func @keep(%out: memref<256xf32>) kernel attributes {redfuse.reuse} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %one = arith.constant 1.0 : f32
    %i = gpu.thread_id x
    %j = arith.xori %i, %c1 : index
    %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %shared[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<256xf32, #gpu.address_space<workgroup>>
    memref.store %one, %tile[%i] : memref<256xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %a = memref.load %tile[%j] : memref<256xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    memref.store %a, %tile[%j] : memref<256xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %b = memref.load %tile[%i] : memref<256xf32, #gpu.address_space<workgroup>>
    memref.store %b, %out[%i] : memref<256xf32>
    gpu.return
  }
}

// -----

// A tile that is only written goes, with the stores right behind it.

// CHECK-LABEL: gpu.func @unread
// CHECK-NOT: memref.view
// CHECK-NOT: memref.store
// CHECK: gpu.return
gpu.module @m {
  gpu.func @unread(%v: f32) kernel {
    %c0 = arith.constant 0 : index
    %i = gpu.thread_id x
    %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %shared[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %v, %tile[%i] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}
