// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-plan-registers=strict -redfuse-kernel-to-gpu | FileCheck %s --check-prefix=STRICT

#x = affine_map<(i, j) -> (i, j)>

// A recurrence h = a*h + x of a row: a thread has vectors of it, lanes hand on what they have in all, and products are
// added by one instruction. What the combination does for an identity on the left is left out between elements, not
// where the row begins. With strict, elements are combined one after another.
// CHECK-LABEL: gpu.func @states_0
// CHECK: math.fma
// CHECK: gpu.shuffle
// CHECK: math.fma
// CHECK: arith.select {{.*}} {redfuse.identity}
// CHECK-NOT: scf.for
// STRICT-LABEL: gpu.func @states_0
// STRICT-NOT: gpu.shuffle
// STRICT: scf.for
// STRICT-NOT: math.fma
// STRICT: arith.mulf
// STRICT: arith.addf
func.func @states(%a: memref<4096x256xf32>, %x: memref<4096x256xf32>, %out: memref<4096x256xf32>) {
  redfuse.launch @states_0 ins(%a, %x : memref<4096x256xf32>, memref<4096x256xf32>) outs(%out : memref<4096x256xf32>)
  return
}
redfuse.kernel @states_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<resident, grid = [0], tiles = [1, 0]>} {
^bb0(%a: tensor<4096x256xf32>, %x: tensor<4096x256xf32>, %init: tensor<4096x256xf32>):
  %r = redfuse.cascade {indexing_maps = [#x, #x, #x]} ins(%a, %x : tensor<4096x256xf32>, tensor<4096x256xf32>) outs(%init : tensor<4096x256xf32>) {
  ^bb0(%g: f32, %v: f32):
    %h:2 = redfuse.scan declared %g, %v along 1 {identities = [1.0 : f32, 0.0 : f32], ordered} : f32, f32 combine {
    ^bb0(%l0: f32, %l1: f32, %r0: f32, %r1: f32):
      %one = arith.constant 1.0 : f32
      %zero = arith.constant 0.0 : f32
      %p = arith.mulf %l0, %r0 : f32
      %q = arith.mulf %r0, %l1 : f32
      %s = arith.addf %q, %r1 : f32
      %c0 = arith.cmpf oeq, %l0, %one : f32
      %c1 = arith.cmpf oeq, %l1, %zero : f32
      %c = arith.andi %c0, %c1 : i1
      %t = arith.select %c, %r1, %s {redfuse.identity} : f32
      redfuse.yield %p, %t : f32, f32
    }
    redfuse.yield %h#1 : f32
  } -> tensor<4096x256xf32>
  redfuse.yield %r : tensor<4096x256xf32>
}
