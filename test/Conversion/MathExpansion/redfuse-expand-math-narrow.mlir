// RUN: redfuse-opt %s --pass-pipeline="builtin.module(gpu.module(redfuse-expand-math))" | FileCheck %s

gpu.module @kernels {
  // Where a tensor is of 16 bits exp(x) - 1 is made of the instruction for powers of two, and of
  // a polynomial near 0, which keeps the sign of 0.
  // CHECK-LABEL: gpu.func @narrow
  // CHECK: %[[X:.*]] = arith.extf
  // CHECK: %[[S:.*]] = arith.mulf %[[X]], %{{.*}} : f32
  // CHECK: %[[U:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%[[S]])
  // CHECK: %[[L:.*]] = arith.subf %[[U]], %{{.*}} : f32
  // CHECK-COUNT-3: math.fma %[[X]],
  // CHECK: %[[N:.*]] = arith.mulf %[[X]], %{{.*}} : f32
  // CHECK: %[[A:.*]] = math.absf %[[X]]
  // CHECK: %[[IS:.*]] = arith.cmpf olt, %[[A]], %{{.*}} : f32
  // CHECK: arith.select %[[IS]], %[[N]], %[[L]] : f32
  gpu.func @narrow(%a: memref<4xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %h = memref.load %a[%c0] : memref<4xbf16>
    %x = arith.extf %h : bf16 to f32
    %y = math.expm1 %x : f32
    %z = arith.truncf %y : f32 to bf16
    memref.store %z, %a[%c0] : memref<4xbf16>
    gpu.return
  }

  // Of f32 it is libdevice's.
  // CHECK-LABEL: gpu.func @wide
  // CHECK: math.expm1
  gpu.func @wide(%a: memref<4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%c0] : memref<4xf32>
    %y = math.expm1 %x : f32
    memref.store %y, %a[%c0] : memref<4xf32>
    gpu.return
  }
}
