// RUN: redfuse-opt %s --pass-pipeline="builtin.module(gpu.module(redfuse-expand-math))" | FileCheck %s

gpu.module @kernels {
  // A product with the reciprocal of what all share; by what is left over it is rounded once
  // where it is quantised.
  // CHECK-LABEL: gpu.func @quotients
  // CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[SCALED:.*]] : f32
  // CHECK: %[[I:.*]] = vector.broadcast %[[R]] : f32 to vector<4xf32>
  // CHECK: %[[Q:.*]] = arith.mulf %[[X:.*]], %[[I]] : vector<4xf32>
  // CHECK: %[[Y:.*]] = vector.broadcast %[[SCALED]] : f32 to vector<4xf32>
  // CHECK: %[[M:.*]] = arith.negf %[[Y]] : vector<4xf32>
  // CHECK: %[[LEFT:.*]] = math.fma %[[M]], %[[Q]], %[[X]] : vector<4xf32>
  // CHECK: %[[NEAR:.*]] = math.fma %[[LEFT]], %[[I]], %[[Q]] : vector<4xf32>
  // CHECK: %[[LESS:.*]] = math.fma %[[M]], %[[NEAR]], %[[X]] : vector<4xf32>
  // CHECK: %[[IS:.*]] = arith.cmpf ord, %[[LESS]], %[[LESS]] : vector<4xf32>
  // CHECK: %[[ONCE:.*]] = math.fma %[[LESS]], %[[I]], %[[NEAR]] : vector<4xf32>
  // CHECK: arith.select %[[IS]], %[[ONCE]], %[[Q]]
  // CHECK-NOT: math.fma
  // CHECK: arith.mulf
  gpu.func @quotients(%a: memref<4xf32>, %y: f32) kernel {
    %c0 = arith.constant 0 : index
    %x = vector.load %a[%c0] : memref<4xf32>, vector<4xf32>
    %b = vector.broadcast %y : f32 to vector<4xf32>
    %q = arith.divf %x, %b {redfuse.rounds} : vector<4xf32>
    vector.store %q, %a[%c0] : memref<4xf32>, vector<4xf32>
    %z = vector.load %a[%c0] : memref<4xf32>, vector<4xf32>
    %p = arith.divf %z, %b : vector<4xf32>
    vector.store %p, %a[%c0] : memref<4xf32>, vector<4xf32>
    gpu.return
  }
}
