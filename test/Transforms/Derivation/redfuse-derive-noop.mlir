// RUN: redfuse-opt -redfuse-derive %s | FileCheck %s --check-prefix=SCHEDULED
// RUN: redfuse-opt -redfuse-derive=all=true %s | FileCheck %s
// RUN: redfuse-opt -redfuse-derive="all=true strict=true" %s | FileCheck %s --check-prefix=STRICT

// A resident schedule keeps its cascade, unless all are asked for.
// SCHEDULED-LABEL: @resident
// SCHEDULED-NOT: redfuse.fold
// CHECK-LABEL: @resident
// CHECK: redfuse.fold
func.func @resident(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      schedule = #redfuse.schedule<resident, grid = [0], tiles = [16, 0]>}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}

// A map has nothing to fold.
// CHECK-LABEL: @map
// CHECK-NOT: redfuse.fold
func.func @map(%s: tensor<64x80xf32>, %init: tensor<64x80xf32>) -> tensor<64x80xf32> {
  %l = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64x80xf32>) {
  ^bb0(%x: f32):
    %y = arith.negf %x : f32
    redfuse.yield %y : f32
  } -> tensor<64x80xf32>
  return %l : tensor<64x80xf32>
}

// CHECK-LABEL: @sum
// Strict refuses sums of floats, not maxima.
// STRICT-LABEL: @sum
// STRICT-SAME: condition = "strict"
// STRICT-NOT: redfuse.fold
// STRICT-LABEL: @maximum
// STRICT: redfuse.fold
func.func @sum(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce add %x over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}
func.func @maximum(%s: tensor<64x80xf32>, %init: tensor<64xf32>) -> tensor<64xf32> {
  %l = redfuse.cascade {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>]}
      ins(%s : tensor<64x80xf32>) outs(%init : tensor<64xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce maximumf %x over [1] into [0] : f32
    redfuse.yield %m : f32
  } -> tensor<64xf32>
  return %l : tensor<64xf32>
}
