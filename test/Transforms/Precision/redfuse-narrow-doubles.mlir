// RUN: redfuse-opt %s -redfuse-narrow-doubles -cse | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>

// The sum in f64 becomes the one in f32.
// CHECK-LABEL: func.func @spread
// CHECK:         %[[N:.*]] = arith.constant 8.000000e+00 : f32
// CHECK-NOT:     f64
// CHECK:         %[[W:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK:         %[[S:.*]] = redfuse.reduce add %[[W]] over [1] into [0] : f32
// CHECK:         %[[M:.*]] = arith.divf %[[S]], %[[N]] : f32
// CHECK:         %[[D:.*]] = arith.subf %[[W]], %[[M]] : f32
// CHECK:         %[[Q:.*]] = arith.mulf %[[D]], %[[D]] : f32
// CHECK:         %[[V:.*]] = redfuse.reduce add %[[Q]] over [1] into [0] : f32
// CHECK:         %[[R:.*]] = math.rsqrt %[[V]] : f32
// CHECK:         %[[O:.*]] = arith.mulf %[[D]], %[[R]] : f32
// CHECK:         arith.truncf %[[O]] : f32 to bf16
// CHECK-NOT:     f64
func.func @spread(%x: tensor<4x8xbf16>, %o: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %n = arith.constant 8.0 : f64
  %m = arith.constant 8.0 : f32
  %r = redfuse.cascade {indexing_maps = [#x, #x]} ins(%x : tensor<4x8xbf16>) outs(%o : tensor<4x8xbf16>) {
  ^bb0(%a: bf16):
    %single = arith.extf %a : bf16 to f32
    %sum1 = redfuse.reduce add %single over [1] into [0] : f32
    %mean1 = arith.divf %sum1, %m : f32
    %away1 = arith.subf %single, %mean1 : f32
    %double = arith.extf %a : bf16 to f64
    %sum2 = redfuse.reduce add %double over [1] into [0] : f64
    %mean2 = arith.divf %sum2, %n : f64
    %away2 = arith.subf %double, %mean2 : f64
    %square = arith.mulf %away2, %away2 : f64
    %sum = redfuse.reduce add %square over [1] into [0] : f64
    %spread = arith.truncf %sum : f64 to f32
    %inverse = math.rsqrt %spread : f32
    %scaled = arith.mulf %away1, %inverse : f32
    %short = arith.truncf %scaled : f32 to bf16
    redfuse.yield %short : bf16
  } -> tensor<4x8xbf16>
  return %r : tensor<4x8xbf16>
}
