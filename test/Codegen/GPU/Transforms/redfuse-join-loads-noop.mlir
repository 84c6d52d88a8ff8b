// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(gpu.func(redfuse-join-loads)))" | FileCheck %s

// Windows of threads that overlap; rows on both sides of a store; elements of 32 bits.
// CHECK-NOT: vector.load
gpu.module @m {
  gpu.func @overlapping(%x: memref<4096xbf16>, %y: memref<256xbf16>) kernel {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    %step = arith.constant 2 : index
    %i = gpu.thread_id x
    %0 = arith.muli %i, %step : index
    %1 = arith.addi %0, %c1 : index
    %2 = arith.addi %0, %c2 : index
    %3 = arith.addi %0, %c3 : index
    %4 = arith.addi %0, %c4 : index
    %5 = arith.addi %0, %c5 : index
    %6 = arith.addi %0, %c6 : index
    %7 = arith.addi %0, %c7 : index
    %v0 = memref.load %x[%0] : memref<4096xbf16>
    %v1 = memref.load %x[%1] : memref<4096xbf16>
    %v2 = memref.load %x[%2] : memref<4096xbf16>
    %v3 = memref.load %x[%3] : memref<4096xbf16>
    %v4 = memref.load %x[%4] : memref<4096xbf16>
    %v5 = memref.load %x[%5] : memref<4096xbf16>
    %v6 = memref.load %x[%6] : memref<4096xbf16>
    %v7 = memref.load %x[%7] : memref<4096xbf16>
    %m1 = arith.maximumf %v0, %v1 : bf16
    %m2 = arith.maximumf %m1, %v2 : bf16
    %m3 = arith.maximumf %m2, %v3 : bf16
    %m4 = arith.maximumf %m3, %v4 : bf16
    %m5 = arith.maximumf %m4, %v5 : bf16
    %m6 = arith.maximumf %m5, %v6 : bf16
    %m7 = arith.maximumf %m6, %v7 : bf16
    memref.store %m7, %y[%i] : memref<256xbf16>
    gpu.return
  }

  gpu.func @stored(%x: memref<4096xbf16>, %y: memref<256xbf16>) kernel {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    %step = arith.constant 9 : index
    %i = gpu.thread_id x
    %0 = arith.muli %i, %step : index
    %1 = arith.addi %0, %c1 : index
    %2 = arith.addi %0, %c2 : index
    %3 = arith.addi %0, %c3 : index
    %4 = arith.addi %0, %c4 : index
    %5 = arith.addi %0, %c5 : index
    %6 = arith.addi %0, %c6 : index
    %7 = arith.addi %0, %c7 : index
    %v0 = memref.load %x[%0] : memref<4096xbf16>
    %v1 = memref.load %x[%1] : memref<4096xbf16>
    %v2 = memref.load %x[%2] : memref<4096xbf16>
    %v3 = memref.load %x[%3] : memref<4096xbf16>
    memref.store %v0, %y[%c1] : memref<256xbf16>
    %v4 = memref.load %x[%4] : memref<4096xbf16>
    %v5 = memref.load %x[%5] : memref<4096xbf16>
    %v6 = memref.load %x[%6] : memref<4096xbf16>
    %v7 = memref.load %x[%7] : memref<4096xbf16>
    %m1 = arith.maximumf %v0, %v1 : bf16
    %m2 = arith.maximumf %m1, %v2 : bf16
    %m3 = arith.maximumf %m2, %v3 : bf16
    %m4 = arith.maximumf %m3, %v4 : bf16
    %m5 = arith.maximumf %m4, %v5 : bf16
    %m6 = arith.maximumf %m5, %v6 : bf16
    %m7 = arith.maximumf %m6, %v7 : bf16
    memref.store %m7, %y[%i] : memref<256xbf16>
    gpu.return
  }

  gpu.func @words(%x: memref<4096xf32>, %y: memref<256xf32>) kernel {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    %step = arith.constant 9 : index
    %i = gpu.thread_id x
    %0 = arith.muli %i, %step : index
    %1 = arith.addi %0, %c1 : index
    %2 = arith.addi %0, %c2 : index
    %3 = arith.addi %0, %c3 : index
    %4 = arith.addi %0, %c4 : index
    %5 = arith.addi %0, %c5 : index
    %6 = arith.addi %0, %c6 : index
    %7 = arith.addi %0, %c7 : index
    %v0 = memref.load %x[%0] : memref<4096xf32>
    %v1 = memref.load %x[%1] : memref<4096xf32>
    %v2 = memref.load %x[%2] : memref<4096xf32>
    %v3 = memref.load %x[%3] : memref<4096xf32>
    %v4 = memref.load %x[%4] : memref<4096xf32>
    %v5 = memref.load %x[%5] : memref<4096xf32>
    %v6 = memref.load %x[%6] : memref<4096xf32>
    %v7 = memref.load %x[%7] : memref<4096xf32>
    %m1 = arith.maximumf %v0, %v1 : f32
    %m2 = arith.maximumf %m1, %v2 : f32
    %m3 = arith.maximumf %m2, %v3 : f32
    %m4 = arith.maximumf %m3, %v4 : f32
    %m5 = arith.maximumf %m4, %v5 : f32
    %m6 = arith.maximumf %m5, %v6 : f32
    %m7 = arith.maximumf %m6, %v7 : f32
    memref.store %m7, %y[%i] : memref<256xf32>
    gpu.return
  }
}
