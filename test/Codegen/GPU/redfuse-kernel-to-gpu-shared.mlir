// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90 -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s
// RUN: redfuse-opt %s -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s

// Three launches of one kernel on buffers of the same types: one function.

// CHECK-LABEL: func.func @layers
// CHECK-SAME: (%[[X:.+]]: memref<?x64xf32>, %[[Y:.+]]: memref<?x64xf32>, %{{.+}}: index, %[[A:.+]]: memref<?xf32>, %[[B:.+]]: memref<?xf32>)
// CHECK: gpu.launch_func @{{.+}}::@first {{.+}}%[[X]] : memref<?x64xf32>, %[[A]] : memref<?xf32>
// CHECK: scf.for
// CHECK: gpu.launch_func @{{.+}}::@first {{.+}}%[[Y]] : memref<?x64xf32>, %[[B]] : memref<?xf32>
// CHECK: gpu.launch_func @{{.+}}::@first {{.+}}%[[Y]] : memref<?x64xf32>, %[[A]] : memref<?xf32>
// CHECK: gpu.func @first(
// CHECK-NOT: gpu.func
#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @layers(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %n: index, %a: memref<?xf32>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  redfuse.launch @first ins(%x : memref<?x64xf32>) outs(%a : memref<?xf32>)
  scf.for %i = %c0 to %n step %c1 {
    redfuse.launch @first ins(%y : memref<?x64xf32>) outs(%b : memref<?xf32>)
  }
  redfuse.launch @first ins(%y : memref<?x64xf32>) outs(%a : memref<?xf32>) {redfuse.instead_of = "third"}
  return
}
redfuse.kernel @first attributes {num_inputs = 1 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%x: tensor<?x64xf32>, %init: tensor<?xf32>):
  %0 = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<?x64xf32>) outs(%init : tensor<?xf32>) {
  ^bb0(%e: f32):
    %m = redfuse.reduce maximumf %e over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<?xf32>
  redfuse.yield %0 : tensor<?xf32>
}
