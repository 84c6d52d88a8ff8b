// RUN: redfuse-opt %s -redfuse-kernel-to-gpu | FileCheck %s

// GPUs have no maximum of two f64: comparisons and a select. What a NaN is on the
// left stays, what it is on the right is taken because nothing is greater.

// CHECK-LABEL: gpu.func @main_0
// CHECK: gpu.shuffle xor
// CHECK: %[[Y:.*]] = arith.bitcast %{{.*}} : i64 to f64
// CHECK: %[[BEYOND:.*]] = arith.cmpf ogt, %[[X:.*]], %[[Y]] : f64
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]] : f64
// CHECK: %[[TAKES:.*]] = arith.ori %[[BEYOND]], %[[NAN]] : i1
// CHECK: arith.select %[[TAKES]], %[[X]], %[[Y]] : f64
// CHECK-NOT: arith.maximumf
#x = affine_map<(i) -> (i)>
#y = affine_map<(i) -> ()>
func.func @main(%x: memref<8xf64>, %out: memref<f64>) {
  redfuse.launch @main_0 ins(%x : memref<8xf64>) outs(%out : memref<f64>)
  return
}
redfuse.kernel @main_0 attributes {num_inputs = 1 : i64, schedule = #redfuse.schedule<resident, tiles = [0]>} {
^bb0(%x: tensor<8xf64>, %init: tensor<f64>):
  %0 = redfuse.cascade {indexing_maps = [#x, #y]} ins(%x : tensor<8xf64>) outs(%init : tensor<f64>) {
  ^bb0(%v: f64):
    %m = redfuse.reduce maximumf %v over [0] into [] : f64
    redfuse.yield %m : f64
  } -> tensor<f64>
  redfuse.yield %0 : tensor<f64>
}
