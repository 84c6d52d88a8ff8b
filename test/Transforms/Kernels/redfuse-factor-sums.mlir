// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-factor-sums | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-factor-sums | FileCheck %s --check-prefix=NONE
// RUN: redfuse-opt %s -redfuse-factor-sums | FileCheck %s --check-prefix=NONE

// Without units of warpgroups sums are of what the program multiplies.
// NONE-LABEL: func.func @rows_and_columns
// NONE: arith.extf %{{.*}} : f8E4M3FN to f32
// NONE-NEXT: arith.mulf
// NONE-NEXT: arith.extf
// NONE-NEXT: arith.mulf

#ik = affine_map<(i, j, k) -> (i, k)>
#jk = affine_map<(i, j, k) -> (j, k)>
#i = affine_map<(i, j, k) -> (i)>
#j = affine_map<(i, j, k) -> (j)>
#ij = affine_map<(i, j, k) -> (i, j)>
#x = affine_map<(m, p, j, g, k) -> (m, g, k)>
#a = affine_map<(m, p, j, g, k) -> (m, g)>
#w = affine_map<(m, p, j, g, k) -> (p, j, g, k)>
#b = affine_map<(m, p, j, g, k) -> (p, g)>
#r = affine_map<(m, p, j, g, k) -> (m, p, j)>
#across = affine_map<(m, p, j, g, k) -> (p, j, k, g)>

// Scales that no dim of the sum changes multiply the sum.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK: ^bb0(%[[X:.*]]: f8E4M3FN, %[[A:.*]]: f32, %[[W:.*]]: f8E4M3FN, %[[B:.*]]: f32):
// CHECK-DAG: %[[XF:.*]] = arith.extf %[[X]]
// CHECK-DAG: %[[WF:.*]] = arith.extf %[[W]]
// CHECK: %[[P:.*]] = arith.mulf %[[XF]], %[[WF]]
// CHECK: %[[S:.*]] = redfuse.reduce add %[[P]]
// CHECK: %[[F:.*]] = arith.mulf %[[S]], %[[A]]
// CHECK: %[[R:.*]] = arith.mulf %[[F]], %[[B]]
// CHECK: redfuse.yield %[[R]]
func.func @rows_and_columns(%x: tensor<64x256xf8E4M3FN>, %a: tensor<64xf32>, %w: tensor<96x256xf8E4M3FN>, %b: tensor<96xf32>, %e: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %r = redfuse.cascade {indexing_maps = [#ik, #i, #jk, #j, #ij]} ins(%x, %a, %w, %b : tensor<64x256xf8E4M3FN>, tensor<64xf32>, tensor<96x256xf8E4M3FN>, tensor<96xf32>) outs(%e : tensor<64x96xf32>) {
  ^bb0(%x0: f8E4M3FN, %a0: f32, %w0: f8E4M3FN, %b0: f32):
    %x1 = arith.extf %x0 : f8E4M3FN to f32
    %u = arith.mulf %x1, %a0 : f32
    %w1 = arith.extf %w0 : f8E4M3FN to f32
    %v = arith.mulf %b0, %w1 : f32
    %p = arith.mulf %u, %v : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x96xf32>
  return %r : tensor<64x96xf32>
}

// Those of blocks multiply the product of the numbers; a rounding between is left out.
// CHECK-LABEL: func.func @blocks
// CHECK: ^bb0(%[[X:.*]]: i8, %[[A:.*]]: f32, %[[W:.*]]: i8, %[[B:.*]]: f32):
// CHECK-DAG: %[[XF:.*]] = arith.sitofp %[[X]]
// CHECK-DAG: %[[WF:.*]] = arith.sitofp %[[W]]
// CHECK-DAG: %[[P:.*]] = arith.mulf %[[XF]], %[[WF]]
// CHECK-DAG: %[[F:.*]] = arith.mulf %[[A]], %[[B]]
// CHECK: %[[Q:.*]] = arith.mulf %[[P]], %[[F]]
// CHECK: %[[S:.*]] = redfuse.reduce add %[[Q]]
// CHECK: redfuse.yield %[[S]]
func.func @blocks(%x: tensor<64x2x128xi8>, %a: tensor<64x2xf32>, %w: tensor<3x32x2x128xi8>, %b: tensor<3x2xf32>, %e: tensor<64x3x32xf32>) -> tensor<64x3x32xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #a, #w, #b, #r]} ins(%x, %a, %w, %b : tensor<64x2x128xi8>, tensor<64x2xf32>, tensor<3x32x2x128xi8>, tensor<3x2xf32>) outs(%e : tensor<64x3x32xf32>) {
  ^bb0(%x0: i8, %a0: f32, %w0: i8, %b0: f32):
    %x1 = arith.sitofp %x0 : i8 to f32
    %u = arith.mulf %x1, %a0 : f32
    %w1 = arith.sitofp %w0 : i8 to f32
    %v = arith.mulf %w1, %b0 : f32
    %v1 = arith.truncf %v : f32 to bf16
    %v2 = arith.extf %v1 : bf16 to f32
    %p = arith.mulf %u, %v2 : f32
    %s = redfuse.reduce add %p over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<64x3x32xf32>
  return %r : tensor<64x3x32xf32>
}

// A sum of floats of 8 bits that shows all digits keeps its factors, as the unit has few.
// CHECK-LABEL: func.func @digits
// CHECK: arith.extf
// CHECK-NEXT: arith.mulf
func.func @digits(%x: tensor<64x2x128xf8E4M3FN>, %a: tensor<64x2xf32>, %w: tensor<3x32x2x128xf8E4M3FN>, %b: tensor<3x2xf32>, %e: tensor<64x3x32xf32>) -> tensor<64x3x32xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #a, #w, #b, #r]} ins(%x, %a, %w, %b : tensor<64x2x128xf8E4M3FN>, tensor<64x2xf32>, tensor<3x32x2x128xf8E4M3FN>, tensor<3x2xf32>) outs(%e : tensor<64x3x32xf32>) {
  ^bb0(%x0: f8E4M3FN, %a0: f32, %w0: f8E4M3FN, %b0: f32):
    %x1 = arith.extf %x0 : f8E4M3FN to f32
    %u = arith.mulf %x1, %a0 : f32
    %w1 = arith.extf %w0 : f8E4M3FN to f32
    %v = arith.mulf %w1, %b0 : f32
    %p = arith.mulf %u, %v : f32
    %s = redfuse.reduce add %p over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<64x3x32xf32>
  return %r : tensor<64x3x32xf32>
}

// Nor where numbers do not lie along the dim that changes no scale.
// CHECK-LABEL: func.func @across
// CHECK: arith.sitofp
// CHECK-NEXT: arith.mulf
func.func @across(%x: tensor<64x2x128xi8>, %a: tensor<64x2xf32>, %w: tensor<3x32x128x2xi8>, %b: tensor<3x2xf32>, %e: tensor<64x3x32xf32>) -> tensor<64x3x32xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #a, #across, #b, #r]} ins(%x, %a, %w, %b : tensor<64x2x128xi8>, tensor<64x2xf32>, tensor<3x32x128x2xi8>, tensor<3x2xf32>) outs(%e : tensor<64x3x32xf32>) {
  ^bb0(%x0: i8, %a0: f32, %w0: i8, %b0: f32):
    %x1 = arith.sitofp %x0 : i8 to f32
    %u = arith.mulf %x1, %a0 : f32
    %w1 = arith.sitofp %w0 : i8 to f32
    %v = arith.mulf %w1, %b0 : f32
    %p = arith.mulf %u, %v : f32
    %s = redfuse.reduce add %p over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<64x3x32xf32>
  return %r : tensor<64x3x32xf32>
}

// Maps in front that widen numbers and multiply them are taken in: what is stored before the
// product are the numbers, not their multiples.
// CHECK-LABEL: func.func @maps_in_front
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<64x256xi8>, %[[A:[a-z0-9]+]]: tensor<64xf32>, %[[W:[a-z0-9]+]]: tensor<96x256xi8>
// CHECK: redfuse.cascade {{.*}} ins(%[[Q]], %[[A]], %[[W]] : tensor<64x256xi8>, tensor<64xf32>, tensor<96x256xi8>)
// CHECK: %[[S:.*]] = redfuse.reduce add
// CHECK: arith.mulf %[[S]]
// CHECK: return
#rc = affine_map<(i, k) -> (i, k)>
#rr = affine_map<(i, k) -> (i)>
func.func @maps_in_front(%q: tensor<64x256xi8>, %a: tensor<64xf32>, %w: tensor<96x256xi8>, %e0: tensor<64x256xf32>, %e: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %f = redfuse.cascade {indexing_maps = [#rc, #rc]} ins(%q : tensor<64x256xi8>) outs(%e0 : tensor<64x256xf32>) {
  ^bb0(%x: i8):
    %x1 = arith.sitofp %x : i8 to f32
    redfuse.yield %x1 : f32
  } -> tensor<64x256xf32>
  %d = redfuse.cascade {indexing_maps = [#rc, #rr, #rc]} ins(%f, %a : tensor<64x256xf32>, tensor<64xf32>) outs(%e0 : tensor<64x256xf32>) {
  ^bb0(%x: f32, %s: f32):
    %x1 = arith.mulf %x, %s : f32
    redfuse.yield %x1 : f32
  } -> tensor<64x256xf32>
  %r = redfuse.cascade {indexing_maps = [#ik, #jk, #ij]} ins(%d, %w : tensor<64x256xf32>, tensor<96x256xi8>) outs(%e : tensor<64x96xf32>) {
  ^bb0(%x: f32, %w0: i8):
    %w1 = arith.sitofp %w0 : i8 to f32
    %p = arith.mulf %x, %w1 : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x96xf32>
  return %r : tensor<64x96xf32>
}

// Not for one that adds.
// CHECK-LABEL: func.func @sums_in_front
// CHECK-COUNT-2: redfuse.cascade
// CHECK: redfuse.reduce add
func.func @sums_in_front(%q: tensor<64x256xi8>, %a: tensor<64xf32>, %w: tensor<96x256xi8>, %e0: tensor<64x256xf32>, %e: tensor<64x96xf32>) -> tensor<64x96xf32> {
  %d = redfuse.cascade {indexing_maps = [#rc, #rr, #rc]} ins(%q, %a : tensor<64x256xi8>, tensor<64xf32>) outs(%e0 : tensor<64x256xf32>) {
  ^bb0(%x: i8, %s: f32):
    %x1 = arith.sitofp %x : i8 to f32
    %x2 = arith.addf %x1, %s : f32
    redfuse.yield %x2 : f32
  } -> tensor<64x256xf32>
  %r = redfuse.cascade {indexing_maps = [#ik, #jk, #ij]} ins(%d, %w : tensor<64x256xf32>, tensor<96x256xi8>) outs(%e : tensor<64x96xf32>) {
  ^bb0(%x: f32, %w0: i8):
    %w1 = arith.sitofp %w0 : i8 to f32
    %p = arith.mulf %x, %w1 : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<64x96xf32>
  return %r : tensor<64x96xf32>
}
