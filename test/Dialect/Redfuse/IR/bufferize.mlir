// A launch is bufferized in place: its destination is its result, nothing is
// copied, and kernels keep their tensors.
// RUN: redfuse-opt %s -one-shot-bufferize="bufferize-function-boundaries allow-unknown-ops function-boundary-type-conversion=identity-layout-map" -canonicalize | FileCheck %s

// CHECK: redfuse.kernel @exp
// CHECK: ^bb0(%{{.*}}: tensor<6xf32>, %{{.*}}: tensor<6xf32>):
redfuse.kernel @exp attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<6xf32>, %init: tensor<6xf32>):
  %0 = redfuse.cascade {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
       ins(%x : tensor<6xf32>) outs(%init : tensor<6xf32>) {
  ^bb0(%e: f32):
    %m = math.exp %e : f32
    redfuse.yield %m : f32
  } -> tensor<6xf32>
  redfuse.yield %0 : tensor<6xf32>
}

// Carries its destination on.
redfuse.kernel @accumulate attributes {num_inputs = 1 : i64} {
^bb0(%x: tensor<6xf32>, %init: tensor<6xf32>):
  %0 = redfuse.merge {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]}
       ins(%x : tensor<6xf32>) outs(%init : tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32):
    %m = arith.addf %a, %b : f32
    redfuse.yield %m : f32
  } -> tensor<6xf32>
  redfuse.yield %0 : tensor<6xf32>
}

// A chain through one destination each: two allocations, no copy.
// CHECK-LABEL: func @chain
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<6xf32>
// CHECK-NOT: memref.copy
// CHECK: %[[A:.*]] = memref.alloc()
// CHECK: redfuse.launch @exp ins(%[[X]] : memref<6xf32>) outs(%[[A]] : memref<6xf32>)
// CHECK: %[[B:.*]] = memref.alloc()
// CHECK: redfuse.launch @exp ins(%[[A]] : memref<6xf32>) outs(%[[B]] : memref<6xf32>)
// CHECK-NOT: memref.copy
// CHECK: return %[[B]]
func.func @chain(%x: tensor<6xf32>) -> tensor<6xf32> {
  %e = tensor.empty() : tensor<6xf32>
  %0 = redfuse.launch @exp ins(%x : tensor<6xf32>) outs(%e : tensor<6xf32>) -> tensor<6xf32>
  %f = tensor.empty() : tensor<6xf32>
  %1 = redfuse.launch @exp ins(%0 : tensor<6xf32>) outs(%f : tensor<6xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// A destination that is written while someone still needs what was in it: copied
// where the kernel reads it, a fresh buffer where it only writes.
// CHECK-LABEL: func @still_needed
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<6xf32>, %[[Y:[a-z0-9]+]]: memref<6xf32>
// CHECK: %[[A:.*]] = memref.alloc()
// CHECK-NOT: memref.copy
// CHECK: redfuse.launch @exp ins(%[[X]] : memref<6xf32>) outs(%[[A]] : memref<6xf32>)
// CHECK: %[[B:.*]] = memref.alloc()
// CHECK: memref.copy %[[Y]], %[[B]]
// CHECK: redfuse.launch @accumulate ins(%[[X]] : memref<6xf32>) outs(%[[B]] : memref<6xf32>)
// CHECK: return %[[A]], %[[B]], %[[Y]]
func.func @still_needed(%x: tensor<6xf32>, %y: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  %0 = redfuse.launch @exp ins(%x : tensor<6xf32>) outs(%y : tensor<6xf32>) -> tensor<6xf32>
  %1 = redfuse.launch @accumulate ins(%x : tensor<6xf32>) outs(%y : tensor<6xf32>) -> tensor<6xf32>
  return %0, %1, %y : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}
