// RUN: redfuse-opt %s -redfuse-fuse | FileCheck %s

// A kernel ends at 24 reductions, however well the next would fit.

#s = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func @within
// CHECK: redfuse.cascade
// CHECK-NOT: redfuse.cascade
func.func @within(%x: tensor<65x77xf32>) -> (tensor<65xf32>, tensor<65xf32>) {
  %row = tensor.empty() : tensor<65xf32>
  %0 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%x : tensor<65x77xf32>) outs(%row : tensor<65xf32>) {
  ^bb0(%b0: f32):
    %p0 = arith.mulf %b0, %b0 : f32
    %m0 = redfuse.reduce add %p0 over [1] into [0] : f32
    %p1 = arith.mulf %p0, %b0 : f32
    %m1 = redfuse.reduce add %p1 over [1] into [0] : f32
    %p2 = arith.mulf %p1, %b0 : f32
    %m2 = redfuse.reduce add %p2 over [1] into [0] : f32
    %p3 = arith.mulf %p2, %b0 : f32
    %m3 = redfuse.reduce add %p3 over [1] into [0] : f32
    %p4 = arith.mulf %p3, %b0 : f32
    %m4 = redfuse.reduce add %p4 over [1] into [0] : f32
    %p5 = arith.mulf %p4, %b0 : f32
    %m5 = redfuse.reduce add %p5 over [1] into [0] : f32
    %p6 = arith.mulf %p5, %b0 : f32
    %m6 = redfuse.reduce add %p6 over [1] into [0] : f32
    %p7 = arith.mulf %p6, %b0 : f32
    %m7 = redfuse.reduce add %p7 over [1] into [0] : f32
    %p8 = arith.mulf %p7, %b0 : f32
    %m8 = redfuse.reduce add %p8 over [1] into [0] : f32
    %p9 = arith.mulf %p8, %b0 : f32
    %m9 = redfuse.reduce add %p9 over [1] into [0] : f32
    %p10 = arith.mulf %p9, %b0 : f32
    %m10 = redfuse.reduce add %p10 over [1] into [0] : f32
    %p11 = arith.mulf %p10, %b0 : f32
    %m11 = redfuse.reduce add %p11 over [1] into [0] : f32
    %p12 = arith.mulf %p11, %b0 : f32
    %a1 = arith.addf %m0, %m1 : f32
    %a2 = arith.addf %a1, %m2 : f32
    %a3 = arith.addf %a2, %m3 : f32
    %a4 = arith.addf %a3, %m4 : f32
    %a5 = arith.addf %a4, %m5 : f32
    %a6 = arith.addf %a5, %m6 : f32
    %a7 = arith.addf %a6, %m7 : f32
    %a8 = arith.addf %a7, %m8 : f32
    %a9 = arith.addf %a8, %m9 : f32
    %a10 = arith.addf %a9, %m10 : f32
    %a11 = arith.addf %a10, %m11 : f32
    redfuse.yield %a11 : f32
  } -> tensor<65xf32>
  %1 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%x : tensor<65x77xf32>) outs(%row : tensor<65xf32>) {
  ^bb0(%b0: f32):
    %p0 = arith.mulf %b0, %b0 : f32
    %m0 = redfuse.reduce add %p0 over [1] into [0] : f32
    %p1 = arith.mulf %p0, %b0 : f32
    %m1 = redfuse.reduce add %p1 over [1] into [0] : f32
    %p2 = arith.mulf %p1, %b0 : f32
    %m2 = redfuse.reduce add %p2 over [1] into [0] : f32
    %p3 = arith.mulf %p2, %b0 : f32
    %m3 = redfuse.reduce add %p3 over [1] into [0] : f32
    %p4 = arith.mulf %p3, %b0 : f32
    %m4 = redfuse.reduce add %p4 over [1] into [0] : f32
    %p5 = arith.mulf %p4, %b0 : f32
    %m5 = redfuse.reduce add %p5 over [1] into [0] : f32
    %p6 = arith.mulf %p5, %b0 : f32
    %m6 = redfuse.reduce add %p6 over [1] into [0] : f32
    %p7 = arith.mulf %p6, %b0 : f32
    %m7 = redfuse.reduce add %p7 over [1] into [0] : f32
    %p8 = arith.mulf %p7, %b0 : f32
    %m8 = redfuse.reduce add %p8 over [1] into [0] : f32
    %p9 = arith.mulf %p8, %b0 : f32
    %m9 = redfuse.reduce add %p9 over [1] into [0] : f32
    %p10 = arith.mulf %p9, %b0 : f32
    %m10 = redfuse.reduce add %p10 over [1] into [0] : f32
    %p11 = arith.mulf %p10, %b0 : f32
    %m11 = redfuse.reduce add %p11 over [1] into [0] : f32
    %p12 = arith.mulf %p11, %b0 : f32
    %a1 = arith.addf %m0, %m1 : f32
    %a2 = arith.addf %a1, %m2 : f32
    %a3 = arith.addf %a2, %m3 : f32
    %a4 = arith.addf %a3, %m4 : f32
    %a5 = arith.addf %a4, %m5 : f32
    %a6 = arith.addf %a5, %m6 : f32
    %a7 = arith.addf %a6, %m7 : f32
    %a8 = arith.addf %a7, %m8 : f32
    %a9 = arith.addf %a8, %m9 : f32
    %a10 = arith.addf %a9, %m10 : f32
    %a11 = arith.addf %a10, %m11 : f32
    redfuse.yield %a11 : f32
  } -> tensor<65xf32>
  return %0, %1 : tensor<65xf32>, tensor<65xf32>
}
// CHECK-LABEL: func @beyond
// CHECK: redfuse.cascade
// CHECK: redfuse.cascade
func.func @beyond(%x: tensor<65x77xf32>) -> (tensor<65xf32>, tensor<65xf32>) {
  %row = tensor.empty() : tensor<65xf32>
  %0 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%x : tensor<65x77xf32>) outs(%row : tensor<65xf32>) {
  ^bb0(%b0: f32):
    %p0 = arith.mulf %b0, %b0 : f32
    %m0 = redfuse.reduce add %p0 over [1] into [0] : f32
    %p1 = arith.mulf %p0, %b0 : f32
    %m1 = redfuse.reduce add %p1 over [1] into [0] : f32
    %p2 = arith.mulf %p1, %b0 : f32
    %m2 = redfuse.reduce add %p2 over [1] into [0] : f32
    %p3 = arith.mulf %p2, %b0 : f32
    %m3 = redfuse.reduce add %p3 over [1] into [0] : f32
    %p4 = arith.mulf %p3, %b0 : f32
    %m4 = redfuse.reduce add %p4 over [1] into [0] : f32
    %p5 = arith.mulf %p4, %b0 : f32
    %m5 = redfuse.reduce add %p5 over [1] into [0] : f32
    %p6 = arith.mulf %p5, %b0 : f32
    %m6 = redfuse.reduce add %p6 over [1] into [0] : f32
    %p7 = arith.mulf %p6, %b0 : f32
    %m7 = redfuse.reduce add %p7 over [1] into [0] : f32
    %p8 = arith.mulf %p7, %b0 : f32
    %m8 = redfuse.reduce add %p8 over [1] into [0] : f32
    %p9 = arith.mulf %p8, %b0 : f32
    %m9 = redfuse.reduce add %p9 over [1] into [0] : f32
    %p10 = arith.mulf %p9, %b0 : f32
    %m10 = redfuse.reduce add %p10 over [1] into [0] : f32
    %p11 = arith.mulf %p10, %b0 : f32
    %m11 = redfuse.reduce add %p11 over [1] into [0] : f32
    %p12 = arith.mulf %p11, %b0 : f32
    %m12 = redfuse.reduce add %p12 over [1] into [0] : f32
    %p13 = arith.mulf %p12, %b0 : f32
    %a1 = arith.addf %m0, %m1 : f32
    %a2 = arith.addf %a1, %m2 : f32
    %a3 = arith.addf %a2, %m3 : f32
    %a4 = arith.addf %a3, %m4 : f32
    %a5 = arith.addf %a4, %m5 : f32
    %a6 = arith.addf %a5, %m6 : f32
    %a7 = arith.addf %a6, %m7 : f32
    %a8 = arith.addf %a7, %m8 : f32
    %a9 = arith.addf %a8, %m9 : f32
    %a10 = arith.addf %a9, %m10 : f32
    %a11 = arith.addf %a10, %m11 : f32
    %a12 = arith.addf %a11, %m12 : f32
    redfuse.yield %a12 : f32
  } -> tensor<65xf32>
  %1 = redfuse.cascade {indexing_maps = [#s, #r]} ins(%x : tensor<65x77xf32>) outs(%row : tensor<65xf32>) {
  ^bb0(%b0: f32):
    %p0 = arith.mulf %b0, %b0 : f32
    %m0 = redfuse.reduce add %p0 over [1] into [0] : f32
    %p1 = arith.mulf %p0, %b0 : f32
    %m1 = redfuse.reduce add %p1 over [1] into [0] : f32
    %p2 = arith.mulf %p1, %b0 : f32
    %m2 = redfuse.reduce add %p2 over [1] into [0] : f32
    %p3 = arith.mulf %p2, %b0 : f32
    %m3 = redfuse.reduce add %p3 over [1] into [0] : f32
    %p4 = arith.mulf %p3, %b0 : f32
    %m4 = redfuse.reduce add %p4 over [1] into [0] : f32
    %p5 = arith.mulf %p4, %b0 : f32
    %m5 = redfuse.reduce add %p5 over [1] into [0] : f32
    %p6 = arith.mulf %p5, %b0 : f32
    %m6 = redfuse.reduce add %p6 over [1] into [0] : f32
    %p7 = arith.mulf %p6, %b0 : f32
    %m7 = redfuse.reduce add %p7 over [1] into [0] : f32
    %p8 = arith.mulf %p7, %b0 : f32
    %m8 = redfuse.reduce add %p8 over [1] into [0] : f32
    %p9 = arith.mulf %p8, %b0 : f32
    %m9 = redfuse.reduce add %p9 over [1] into [0] : f32
    %p10 = arith.mulf %p9, %b0 : f32
    %m10 = redfuse.reduce add %p10 over [1] into [0] : f32
    %p11 = arith.mulf %p10, %b0 : f32
    %m11 = redfuse.reduce add %p11 over [1] into [0] : f32
    %p12 = arith.mulf %p11, %b0 : f32
    %a1 = arith.addf %m0, %m1 : f32
    %a2 = arith.addf %a1, %m2 : f32
    %a3 = arith.addf %a2, %m3 : f32
    %a4 = arith.addf %a3, %m4 : f32
    %a5 = arith.addf %a4, %m5 : f32
    %a6 = arith.addf %a5, %m6 : f32
    %a7 = arith.addf %a6, %m7 : f32
    %a8 = arith.addf %a7, %m8 : f32
    %a9 = arith.addf %a8, %m9 : f32
    %a10 = arith.addf %a9, %m10 : f32
    %a11 = arith.addf %a10, %m11 : f32
    redfuse.yield %a11 : f32
  } -> tensor<65xf32>
  return %0, %1 : tensor<65xf32>, tensor<65xf32>
}
