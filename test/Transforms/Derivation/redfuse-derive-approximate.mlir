// RUN: redfuse-opt "-redfuse-derive=all=true approximate=true" %s | FileCheck %s
// RUN: redfuse-opt -redfuse-derive=all=true %s | FileCheck %s --check-prefix=EXACT

// Rounding and saturation are taken for the identity where that is asked for:
// one pass, and the scale leaves the sum. The rules say so.
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>

// CHECK-LABEL: @quantised
// CHECK-NOT: redfuse.refused
// CHECK: redfuse.fold
// CHECK-SAME: {kind = "approximation", text = "approximate: saturation is taken for the identity"}, {kind = "approximation", text = "approximate: rounding is taken for the identity"}
// CHECK-NOT: math.roundeven
// CHECK: redfuse.finalize
// CHECK-NOT: redfuse.fold
// EXACT-LABEL: @quantised
// EXACT-COUNT-2: redfuse.fold
func.func @quantised(%s: tensor<64x80xf32>, %w: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [#ij, #ij, #i]}
      ins(%s, %w : tensor<64x80xf32>, tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32, %y: f32):
    %top = arith.constant 127.0 : f32
    %bottom = arith.constant -127.0 : f32
    %a = math.absf %x : f32
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    %k = arith.divf %top, %m : f32
    %q = arith.mulf %x, %k : f32
    %r = math.roundeven %q : f32
    %low = arith.cmpf ult, %r, %bottom : f32
    %c = arith.select %low, %bottom, %r : f32
    %d = arith.minimumf %c, %top : f32
    %p = arith.mulf %d, %y : f32
    %l = redfuse.reduce add %p over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// One op alone may be marked.
// CHECK-LABEL: @marked
// EXACT-LABEL: @marked
// EXACT: redfuse.fold
// EXACT-SAME: "approximate: rounding is taken for the identity"
// EXACT-NOT: redfuse.fold
func.func @marked(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [#ij, #i]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    %q = arith.divf %x, %m : f32
    %r = math.roundeven %q {redfuse.approximate} : f32
    %l = redfuse.reduce add %r over [1] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}
