// RUN: redfuse-opt %s --pass-pipeline="builtin.module(gpu.module(redfuse-expand-math))" | FileCheck %s

// On a GPU pairs of bf16 are extended in their words: one is shifted, the other one masked.

gpu.module @m {
  // CHECK-LABEL: gpu.func @extend
  // CHECK: %[[WORDS:.+]] = vector.bitcast %{{.+}} : vector<8xbf16> to vector<4xi32>
  // CHECK: %[[LOW:.+]] = arith.shli %[[WORDS]], %{{.+}} : vector<4xi32>
  // CHECK: %[[HIGH:.+]] = arith.andi %[[WORDS]], %{{.+}} : vector<4xi32>
  // CHECK: %[[ALL:.+]] = vector.interleave %[[LOW]], %[[HIGH]] : vector<4xi32>
  // CHECK: vector.bitcast %[[ALL]] : vector<8xi32> to vector<8xf32>
  gpu.func @extend(%x: memref<8xbf16>, %y: memref<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %0 = vector.load %x[%c0] : memref<8xbf16>, vector<8xbf16>
    %1 = arith.extf %0 : vector<8xbf16> to vector<8xf32>
    vector.store %1, %y[%c0] : memref<8xf32>, vector<8xf32>
    gpu.return
  }

  // Other types, and what has no pairs.
  // CHECK-LABEL: gpu.func @others
  // CHECK-COUNT-3: arith.extf
  // CHECK-NOT: arith.shli
  gpu.func @others(%x: memref<8xf16>, %z: memref<3xbf16>, %y: memref<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %0 = vector.load %x[%c0] : memref<8xf16>, vector<8xf16>
    %1 = arith.extf %0 : vector<8xf16> to vector<8xf32>
    vector.store %1, %y[%c0] : memref<8xf32>, vector<8xf32>
    %2 = vector.load %z[%c0] : memref<3xbf16>, vector<3xbf16>
    %3 = arith.extf %2 : vector<3xbf16> to vector<3xf32>
    vector.store %3, %y[%c0] : memref<8xf32>, vector<3xf32>
    %4 = memref.load %z[%c0] : memref<3xbf16>
    %5 = arith.extf %4 : bf16 to f32
    memref.store %5, %y[%c0] : memref<8xf32>
    gpu.return
  }
}
