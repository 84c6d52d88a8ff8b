// RUN: redfuse-opt -redfuse-derive=all=true %s | FileCheck %s

#q = affine_map<(i, j, d) -> (i, d)>
#k = affine_map<(i, j, d) -> (j, d)>
#o = affine_map<(i, j, d) -> (i)>

// The largest of products that are rounded to 16 bits and extended again: the fold
// takes the sums as they are.
// CHECK-LABEL: @rounded
// CHECK: redfuse.fold
// CHECK: %[[S:.+]] = redfuse.reduce add %{{.+}} over [2] into [0, 1] : f32
// CHECK-NOT: arith.truncf
// CHECK: redfuse.reduce maximumf %[[S]] over [1] into [0] : f32
func.func @rounded(%q: tensor<64x32xbf16>, %k: tensor<80x32xbf16>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %r = redfuse.cascade {indexing_maps = [#q, #k, #o]}
      ins(%q, %k : tensor<64x32xbf16>, tensor<80x32xbf16>) outs(%o : tensor<64xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %h = arith.truncf %s : f32 to bf16
    %w = arith.extf %h : bf16 to f32
    %m = redfuse.reduce maximumf %w over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// One of 8 bits is a quantisation, which stays.
// CHECK-LABEL: @quantised
// CHECK: redfuse.fold
// CHECK: arith.truncf %{{.+}} : f32 to f8E4M3FN
func.func @quantised(%q: tensor<64x32xbf16>, %k: tensor<80x32xbf16>, %o: tensor<64xf32>) -> tensor<64xf32> {
  %r = redfuse.cascade {indexing_maps = [#q, #k, #o]}
      ins(%q, %k : tensor<64x32xbf16>, tensor<80x32xbf16>) outs(%o : tensor<64xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %p = arith.mulf %x, %y : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %h = arith.truncf %s : f32 to f8E4M3FN
    %w = arith.extf %h : f8E4M3FN to f32
    %m = redfuse.reduce maximumf %w over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}
