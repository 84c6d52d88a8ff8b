// RUN: redfuse-opt %s -redfuse-plan-packing | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-packing | FileCheck %s
// CHECK-NOT: packing_plan<tiles = [{{[1-9]}}

#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#o = affine_map<(i, j, k) -> (i, j)>
#r = affine_map<(i, j, k) -> (i)>

// So few products are faster where they lie; another reduction is no epilogue; plans
// that are there stay.
// CHECK-LABEL: func.func @programs
// CHECK: redfuse.launch @few_0
// CHECK-NEXT: redfuse.launch @norm_0
// CHECK-NEXT: redfuse.launch @few_0 {{.*}} {redfuse.packing = #redfuse.packing_plan<tiles = [0, 0, 0], registers = [1, 1]>}
func.func @programs(%a: memref<16x8xf32>, %b: memref<8x44xf32>, %c: memref<640x800xf32>, %d: memref<800x440xf32>, %few: memref<16x44xf32>, %norm: memref<640xf32>) {
  redfuse.launch @few_0 ins(%a, %b : memref<16x8xf32>, memref<8x44xf32>) outs(%few : memref<16x44xf32>)
  redfuse.launch @norm_0 ins(%c, %d : memref<640x800xf32>, memref<800x440xf32>) outs(%norm : memref<640xf32>)
  redfuse.launch @few_0 ins(%a, %b : memref<16x8xf32>, memref<8x44xf32>) outs(%few : memref<16x44xf32>) {redfuse.packing = #redfuse.packing_plan<tiles = [0, 0, 0], registers = [1, 1]>}
  return
}
redfuse.kernel @few_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0, 1], tiles = [2, 16, 0]>} {
^bb0(%a: tensor<16x8xf32>, %b: tensor<8x44xf32>, %init: tensor<16x44xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #o]} ins(%a, %b : tensor<16x8xf32>, tensor<8x44xf32>) outs(%init : tensor<16x44xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<16x44xf32>
  redfuse.yield %r : tensor<16x44xf32>
}
redfuse.kernel @norm_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [4, 0, 0]>} {
^bb0(%a: tensor<640x800xf32>, %b: tensor<800x440xf32>, %init: tensor<640xf32>):
  %r = redfuse.cascade {indexing_maps = [#a, #b, #r]} ins(%a, %b : tensor<640x800xf32>, tensor<800x440xf32>) outs(%init : tensor<640xf32>) {
  ^bb0(%x: f32, %y: f32):
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %m = redfuse.reduce maximumf %s over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<640xf32>
  redfuse.yield %r : tensor<640xf32>
}
