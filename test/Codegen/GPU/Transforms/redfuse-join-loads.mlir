// RUN: redfuse-opt %s -pass-pipeline="builtin.module(gpu.module(gpu.func(redfuse-join-loads)))" | FileCheck %s

// Thirteen neighbours of each thread: a vector of eight, and of the five behind it one that
// begins within the first.
// CHECK-LABEL: gpu.func @rest
// CHECK: %[[BASE:.+]] = arith.muli
// CHECK: %[[ZERO:.+]] = arith.constant 0
// CHECK: %[[A:.+]] = arith.addi %[[BASE]], %[[ZERO]]
// CHECK: vector.load %{{.*}}[%{{.*}}, %[[A]]] {alignment = 2 : i64} : memref<8x4096xbf16>, vector<8xbf16>
// CHECK: %[[FIVE:.+]] = arith.constant 5
// CHECK: %[[B:.+]] = arith.addi %[[BASE]], %[[FIVE]]
// CHECK: %[[W:.+]] = vector.load %{{.*}}[%{{.*}}, %[[B]]] {alignment = 2 : i64} : memref<8x4096xbf16>, vector<8xbf16>
// CHECK: vector.extract %[[W]][7]
// CHECK-NOT: memref.load
gpu.module @m {
  gpu.func @rest(%x: memref<8x4096xbf16>, %y: memref<256xbf16>, %r: index) kernel {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %c6 = arith.constant 6 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %c9 = arith.constant 9 : index
    %c10 = arith.constant 10 : index
    %c11 = arith.constant 11 : index
    %c12 = arith.constant 12 : index
    %c13 = arith.constant 13 : index
    %i = gpu.thread_id x
    %0 = arith.muli %i, %c13 : index
    %1 = arith.addi %0, %c1 : index
    %2 = arith.addi %0, %c2 : index
    %3 = arith.addi %0, %c3 : index
    %4 = arith.addi %0, %c4 : index
    %5 = arith.addi %0, %c5 : index
    %6 = arith.addi %0, %c6 : index
    %7 = arith.addi %0, %c7 : index
    %8 = arith.addi %0, %c8 : index
    %9 = arith.addi %0, %c9 : index
    %10 = arith.addi %0, %c10 : index
    %11 = arith.addi %0, %c11 : index
    %12 = arith.addi %0, %c12 : index
    %v0 = memref.load %x[%r, %0] : memref<8x4096xbf16>
    %v1 = memref.load %x[%r, %1] : memref<8x4096xbf16>
    %v2 = memref.load %x[%r, %2] : memref<8x4096xbf16>
    %v3 = memref.load %x[%r, %3] : memref<8x4096xbf16>
    %v4 = memref.load %x[%r, %4] : memref<8x4096xbf16>
    %v5 = memref.load %x[%r, %5] : memref<8x4096xbf16>
    %v6 = memref.load %x[%r, %6] : memref<8x4096xbf16>
    %v7 = memref.load %x[%r, %7] : memref<8x4096xbf16>
    %v8 = memref.load %x[%r, %8] : memref<8x4096xbf16>
    %v9 = memref.load %x[%r, %9] : memref<8x4096xbf16>
    %v10 = memref.load %x[%r, %10] : memref<8x4096xbf16>
    %v11 = memref.load %x[%r, %11] : memref<8x4096xbf16>
    %v12 = memref.load %x[%r, %12] : memref<8x4096xbf16>
    %m1 = arith.maximumf %v0, %v1 : bf16
    %m2 = arith.maximumf %m1, %v2 : bf16
    %m3 = arith.maximumf %m2, %v3 : bf16
    %m4 = arith.maximumf %m3, %v4 : bf16
    %m5 = arith.maximumf %m4, %v5 : bf16
    %m6 = arith.maximumf %m5, %v6 : bf16
    %m7 = arith.maximumf %m6, %v7 : bf16
    %m8 = arith.maximumf %m7, %v8 : bf16
    %m9 = arith.maximumf %m8, %v9 : bf16
    %m10 = arith.maximumf %m9, %v10 : bf16
    %m11 = arith.maximumf %m10, %v11 : bf16
    %m12 = arith.maximumf %m11, %v12 : bf16
    memref.store %m12, %y[%i] : memref<256xbf16>
    gpu.return
  }
}
