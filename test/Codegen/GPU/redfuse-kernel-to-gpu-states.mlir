// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90 -redfuse-plan-registers -redfuse-kernel-to-gpu | FileCheck %s

// Sums of differences from a kept pivot, of eight warps. In a warp all agree on pivot and weight, by
// pairs, and take those of the first lane, as each of two equals keeps its own; each lane moves its
// sums there, once; then the sums are added up, half of them by half of the lanes. The states of all
// warps are merged by the first one alone, in the same way: nobody else stores.

// CHECK-LABEL: gpu.func @moments_0
// CHECK: scf.for
// CHECK: scf.yield
// CHECK-COUNT-10: gpu.shuffle xor
// CHECK-COUNT-2: gpu.shuffle idx
// CHECK: arith.subf
// CHECK: %[[UPPER:.+]] = arith.cmpi ne
// CHECK: arith.select %[[UPPER]]
// CHECK-COUNT-6: gpu.shuffle xor
// CHECK-COUNT-4: gpu.shuffle idx
// CHECK-NOT: gpu.shuffle
// CHECK: gpu.barrier
// CHECK: scf.if %{{.+}} -> (f32, f32, f32, f32, f32, f32) {
// CHECK-COUNT-6: gpu.shuffle xor
// CHECK-COUNT-2: gpu.shuffle idx
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-COUNT-4: gpu.shuffle idx
// CHECK: scf.yield
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: memref.store

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
func.func @moments(%m: memref<128x32768xf32>, %x: memref<128x32768xf32>, %out: memref<128xf32>) {
  redfuse.launch @moments_0 ins(%m, %x : memref<128x32768xf32>, memref<128x32768xf32>)
                            outs(%out : memref<128xf32>)
  return
}
redfuse.kernel @moments_0 attributes {num_inputs = 2 : i64,
    schedule = #redfuse.schedule<stream, grid = [0], tiles = [1, 4096], stream = [1]>} {
^bb0(%m: tensor<128x32768xf32>, %x: tensor<128x32768xf32>, %init: tensor<128xf32>):
  %e = tensor.empty() : tensor<128xf32>
  %st:6 = redfuse.fold {indexing_maps = [#x, #x, #r, #r, #r, #r, #r, #r], over = array<i64: 1>,
            identities = [0.0 : f32, 0.0 : f32, 0.0 : f32, 0.0 : f32, 0.0 : f32, 0.0 : f32]}
          ins(%m, %x : tensor<128x32768xf32>, tensor<128x32768xf32>)
          outs(%e, %e, %e, %e, %e, %e : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>,
               tensor<128xf32>, tensor<128xf32>, tensor<128xf32>)
  step {
  ^bb0(%mass: f32, %v: f32, %p: f32, %w: f32, %n: f32, %t1: f32, %t2: f32, %t3: f32):
    %zero = arith.constant 0.0 : f32
    %ws = redfuse.reduce add %mass over [1] into [0] : f32
    %w1 = arith.addf %w, %ws : f32
    %n1 = arith.addf %n, %ws : f32
    %weighted = arith.mulf %mass, %v : f32
    %sum = redfuse.reduce add %weighted over [1] into [0] : f32
    %mean = arith.divf %sum, %ws : f32
    %empty = arith.cmpf oeq, %w, %zero : f32
    %p1 = arith.select %empty, %mean, %p : f32
    %away = arith.subf %v, %p1 : f32
    %a1 = arith.mulf %mass, %away : f32
    %a2 = arith.mulf %a1, %away : f32
    %a3 = arith.mulf %a2, %away : f32
    %s1 = redfuse.reduce add %a1 over [1] into [0] : f32
    %s2 = redfuse.reduce add %a2 over [1] into [0] : f32
    %s3 = redfuse.reduce add %a3 over [1] into [0] : f32
    %r1 = arith.addf %t1, %s1 : f32
    %r2 = arith.addf %t2, %s2 : f32
    %r3 = arith.addf %t3, %s3 : f32
    redfuse.yield %p1, %w1, %n1, %r1, %r2, %r3 : f32, f32, f32, f32, f32, f32
  } merge {
  ^bb0(%p: f32, %w: f32, %n: f32, %t1: f32, %t2: f32, %t3: f32,
       %q: f32, %x0: f32, %m0: f32, %u1: f32, %u2: f32, %u3: f32):
    %two = arith.constant 2.0 : f32
    %three = arith.constant 3.0 : f32
    %heavier = arith.cmpf ogt, %x0, %w : f32
    %next = arith.select %heavier, %q, %p : f32
    %w1 = arith.addf %w, %x0 : f32
    %n1 = arith.addf %n, %m0 : f32
    %d = arith.subf %p, %next : f32
    %d1 = arith.mulf %d, %n : f32
    %a1 = arith.addf %t1, %d1 : f32
    %c0 = arith.mulf %two, %t1 : f32
    %c1 = arith.addf %c0, %d1 : f32
    %c2 = arith.mulf %c1, %d : f32
    %a2 = arith.addf %t2, %c2 : f32
    %c3 = arith.mulf %three, %t1 : f32
    %c4 = arith.addf %c3, %d1 : f32
    %c5 = arith.mulf %c4, %d : f32
    %c6 = arith.mulf %three, %t2 : f32
    %c7 = arith.addf %c6, %c5 : f32
    %c8 = arith.mulf %c7, %d : f32
    %a3 = arith.addf %t3, %c8 : f32
    %f = arith.subf %q, %next : f32
    %f1 = arith.mulf %f, %m0 : f32
    %b1 = arith.addf %u1, %f1 : f32
    %g0 = arith.mulf %two, %u1 : f32
    %g1 = arith.addf %g0, %f1 : f32
    %g2 = arith.mulf %g1, %f : f32
    %b2 = arith.addf %u2, %g2 : f32
    %g3 = arith.mulf %three, %u1 : f32
    %g4 = arith.addf %g3, %f1 : f32
    %g5 = arith.mulf %g4, %f : f32
    %g6 = arith.mulf %three, %u2 : f32
    %g7 = arith.addf %g6, %g5 : f32
    %g8 = arith.mulf %g7, %f : f32
    %b3 = arith.addf %u3, %g8 : f32
    %r1 = arith.addf %a1, %b1 : f32
    %r2 = arith.addf %a2, %b2 : f32
    %r3 = arith.addf %a3, %b3 : f32
    redfuse.yield %next, %w1, %n1, %r1, %r2, %r3 : f32, f32, f32, f32, f32, f32
  } -> tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>
  %0 = redfuse.finalize {indexing_maps = [#r, #r, #r]}
       ins(%st#2, %st#5 : tensor<128xf32>, tensor<128xf32>) outs(%init : tensor<128xf32>) {
  ^bb0(%n: f32, %t3: f32):
    %y = arith.divf %t3, %n : f32
    redfuse.yield %y : f32
  } -> tensor<128xf32>
  redfuse.yield %0 : tensor<128xf32>
}
