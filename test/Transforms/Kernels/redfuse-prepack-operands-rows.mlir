// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-prepack-operands | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-prepack-operands | FileCheck %s --check-prefix=MMA

#x = affine_map<(i, j, g, k, c) -> (i, g, k, c)>
#w = affine_map<(i, j, g, k, c) -> (j, g, k)>
#s = affine_map<(i, j, g, k, c) -> (j, g)>
#r = affine_map<(i, j, g, k, c) -> (i, j)>

// Few rows that are computed beside packed weights, of which there are many more, are
// copied: matrix units unpack weights for rows that are in memory.
// CHECK-LABEL: func.func @gated
// CHECK: %[[ROWS:.*]] = redfuse.cascade
// CHECK-NOT: redfuse.reduce
// CHECK: } -> tensor<3x16x32x2xbf16>
// CHECK: redfuse.cascade {{.*}} ins({{.*}}%[[ROWS]]
// CHECK: redfuse.reduce add
// MMA-LABEL: func.func @gated
// MMA: redfuse.cascade
// MMA-NOT: redfuse.cascade
// MMA: func.func
func.func @gated(%g: tensor<3x16x32x2xbf16>, %u: tensor<3x16x32x2xbf16>, %w: tensor<512x16x32xi8>, %s: tensor<512x16xbf16>) -> tensor<3x512xf32> {
  %c1 = arith.constant 1 : index
  %four = arith.constant 4 : i8
  %low = arith.constant 15 : i8
  %e = tensor.empty() : tensor<3x512xf32>
  %y = redfuse.cascade {indexing_maps = [#x, #x, #w, #s, #r]} ins(%g, %u, %w, %s : tensor<3x16x32x2xbf16>, tensor<3x16x32x2xbf16>, tensor<512x16x32xi8>, tensor<512x16xbf16>) outs(%e : tensor<3x512xf32>) {
  ^bb0(%a: bf16, %b: bf16, %byte: i8, %scale: bf16):
    %a1 = arith.extf %a : bf16 to f32
    %b1 = arith.extf %b : bf16 to f32
    %row = arith.mulf %a1, %b1 : f32
    %rounded = arith.truncf %row : f32 to bf16
    %left = arith.extf %rounded : bf16 to f32
    %i = redfuse.index 4
    %isLow = arith.cmpi slt, %i, %c1 : index
    %low4 = arith.andi %byte, %low : i8
    %high4 = arith.shrui %byte, %four : i8
    %code = arith.select %isLow, %low4, %high4 : i8
    %f = arith.uitofp %code : i8 to bf16
    %f1 = arith.extf %f : bf16 to f32
    %scale1 = arith.extf %scale : bf16 to f32
    %weight = arith.mulf %f1, %scale1 : f32
    %weight16 = arith.truncf %weight : f32 to bf16
    %right = arith.extf %weight16 : bf16 to f32
    %m = arith.mulf %left, %right : f32
    %sum = redfuse.reduce add %m over [2, 3, 4] into [0, 1] : f32
    redfuse.yield %sum : f32
  } -> tensor<3x512xf32>
  return %y : tensor<3x512xf32>
}

// Of a part of a tensor whose rows are ragged, the part is copied.
// CHECK-LABEL: func.func @slice
// CHECK: %[[PART:.*]] = redfuse.cascade
// CHECK: } -> tensor<16x65x64xbf16>
// CHECK: redfuse.cascade {{.*}} ins({{.*}}%[[PART]]
// CHECK: redfuse.reduce add
func.func @slice(%a: tensor<16x65x65xbf16>, %s: tensor<16x64x4096xbf16>) -> tensor<16x65x4096xbf16> {
  %e = tensor.empty() : tensor<16x65x4096xbf16>
  %y = redfuse.cascade {indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k + 1)>, affine_map<(b, i, j, k) -> (b, k, j)>, affine_map<(b, i, j, k) -> (b, i, j)>]}
      ins(%a, %s : tensor<16x65x65xbf16>, tensor<16x64x4096xbf16>) outs(%e : tensor<16x65x4096xbf16>) {
  ^bb0(%x: bf16, %z: bf16):
    %x1 = arith.extf %x : bf16 to f32
    %z1 = arith.extf %z : bf16 to f32
    %m = arith.mulf %x1, %z1 : f32
    %sum = redfuse.reduce add %m over [3] into [0, 1, 2] : f32
    %o = arith.truncf %sum : f32 to bf16
    redfuse.yield %o : bf16
  } -> tensor<16x65x4096xbf16>
  return %y : tensor<16x65x4096xbf16>
}
