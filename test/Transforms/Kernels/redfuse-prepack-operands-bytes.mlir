// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-prepack-operands | FileCheck %s

#ik = affine_map<(i, j, k) -> (i, k)>
#kj = affine_map<(i, j, k) -> (k, j)>
#jk = affine_map<(i, j, k) -> (j, k)>
#ij = affine_map<(i, j, k) -> (i, j)>

// The unit of warpgroups reads floats of 8 bits that lie along the sum. Others are copied so,
// as they are.
// CHECK-LABEL: func.func @across
// CHECK: %[[Q:.*]] = redfuse.cascade {{.*}} ins(%{{.*}} : tensor<4096x4096xf8E4M3FN>) outs(%{{.*}} : tensor<4096x4096xf8E4M3FN>)
// CHECK: redfuse.cascade {{.*}} ins(%{{.*}}, %[[Q]] : tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E4M3FN>)
func.func @across(%x: tensor<4096x4096xf8E4M3FN>, %y: tensor<4096x4096xf8E4M3FN>, %e: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %r = redfuse.cascade {indexing_maps = [#ik, #kj, #ij]} ins(%x, %y : tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E4M3FN>) outs(%e : tensor<4096x4096xbf16>) {
  ^bb0(%a: f8E4M3FN, %b: f8E4M3FN):
    %v = arith.extf %a : f8E4M3FN to f32
    %w = arith.extf %b : f8E4M3FN to f32
    %p = arith.mulf %v, %w : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %c = arith.truncf %s : f32 to bf16
    redfuse.yield %c : bf16
  } -> tensor<4096x4096xbf16>
  return %r : tensor<4096x4096xbf16>
}

// CHECK-LABEL: func.func @along
// CHECK-NOT: tensor.empty
// CHECK: redfuse.cascade
// CHECK-NOT: redfuse.cascade
func.func @along(%x: tensor<4096x4096xf8E4M3FN>, %y: tensor<4096x4096xf8E5M2>, %e: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
  %r = redfuse.cascade {indexing_maps = [#ik, #jk, #ij]} ins(%x, %y : tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E5M2>) outs(%e : tensor<4096x4096xf16>) {
  ^bb0(%a: f8E4M3FN, %b: f8E5M2):
    %v = arith.extf %a : f8E4M3FN to f32
    %w = arith.extf %b : f8E5M2 to f32
    %p = arith.mulf %v, %w : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %c = arith.truncf %s : f32 to f16
    redfuse.yield %c : f16
  } -> tensor<4096x4096xf16>
  return %r : tensor<4096x4096xf16>
}

// The unit has few digits for sums of these: what shows more is multiplied in 16 bits.
// CHECK-LABEL: func.func @digits
// CHECK-COUNT-2: redfuse.cascade {{.*}} outs(%{{.*}} : tensor<4096x4096xbf16>)
// CHECK: redfuse.cascade
func.func @digits(%x: tensor<4096x4096xf8E4M3FN>, %y: tensor<4096x4096xf8E4M3FN>, %e: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %r = redfuse.cascade {indexing_maps = [#ik, #jk, #ij]} ins(%x, %y : tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E4M3FN>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%a: f8E4M3FN, %b: f8E4M3FN):
    %v = arith.extf %a : f8E4M3FN to f32
    %w = arith.extf %b : f8E4M3FN to f32
    %p = arith.mulf %v, %w : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

// A choice may depend on each digit.
// CHECK-LABEL: func.func @compared
// CHECK-COUNT-2: redfuse.cascade {{.*}} outs(%{{.*}} : tensor<4096x4096xbf16>)
// CHECK: redfuse.cascade
func.func @compared(%x: tensor<4096x4096xf8E4M3FN>, %y: tensor<4096x4096xf8E4M3FN>, %e: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %r = redfuse.cascade {indexing_maps = [#ik, #jk, #ij]} ins(%x, %y : tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E4M3FN>) outs(%e : tensor<4096x4096xbf16>) {
  ^bb0(%a: f8E4M3FN, %b: f8E4M3FN):
    %zero = arith.constant 0.0 : f32
    %v = arith.extf %a : f8E4M3FN to f32
    %w = arith.extf %b : f8E4M3FN to f32
    %p = arith.mulf %v, %w : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %q = arith.cmpf ogt, %s, %zero : f32
    %u = arith.uitofp %q : i1 to f32
    %c = arith.truncf %u : f32 to bf16
    redfuse.yield %c : bf16
  } -> tensor<4096x4096xbf16>
  return %r : tensor<4096x4096xbf16>
}

// An exponential makes small errors large.
// CHECK-LABEL: func.func @exponential
// CHECK-COUNT-2: redfuse.cascade {{.*}} outs(%{{.*}} : tensor<4096x4096xbf16>)
// CHECK: redfuse.cascade
func.func @exponential(%x: tensor<4096x4096xf8E4M3FN>, %y: tensor<4096x4096xf8E4M3FN>, %e: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %r = redfuse.cascade {indexing_maps = [#ik, #jk, #ij]} ins(%x, %y : tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E4M3FN>) outs(%e : tensor<4096x4096xbf16>) {
  ^bb0(%a: f8E4M3FN, %b: f8E4M3FN):
    %v = arith.extf %a : f8E4M3FN to f32
    %w = arith.extf %b : f8E4M3FN to f32
    %p = arith.mulf %v, %w : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    %q = math.exp %s : f32
    %c = arith.truncf %q : f32 to bf16
    redfuse.yield %c : bf16
  } -> tensor<4096x4096xbf16>
  return %r : tensor<4096x4096xbf16>
}

// Sums of integers are exact, whatever follows them: what does not lie along the sum is copied.
// CHECK-LABEL: func.func @integers
// CHECK: redfuse.cascade {{.*}} outs(%{{.*}} : tensor<4096x4096xi8>)
// CHECK: redfuse.cascade
// CHECK: redfuse.reduce add {{.*}} : i32
// CHECK-NOT: redfuse.cascade
func.func @integers(%x: tensor<4096x4096xi8>, %y: tensor<4096x4096xi8>, %e: tensor<4096x4096xi32>) -> tensor<4096x4096xi32> {
  %r = redfuse.cascade {indexing_maps = [#ik, #kj, #ij]} ins(%x, %y : tensor<4096x4096xi8>, tensor<4096x4096xi8>) outs(%e : tensor<4096x4096xi32>) {
  ^bb0(%a: i8, %b: i8):
    %v = arith.extsi %a : i8 to i32
    %w = arith.extsi %b : i8 to i32
    %p = arith.muli %v, %w : i32
    %s = redfuse.reduce add %p over [2] into [0, 1] : i32
    redfuse.yield %s : i32
  } -> tensor<4096x4096xi32>
  return %r : tensor<4096x4096xi32>
}

// Those of floats, too, as long as none is longer than i32: nothing is copied.
// CHECK-LABEL: func.func @floats_of_integers
// CHECK-COUNT-1: redfuse.cascade
// CHECK: redfuse.reduce add {{.*}} : f32
// CHECK-NOT: redfuse.cascade
func.func @floats_of_integers(%x: tensor<4096x4096xi8>, %y: tensor<4096x4096xi8>, %e: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %r = redfuse.cascade {indexing_maps = [#ik, #jk, #ij]} ins(%x, %y : tensor<4096x4096xi8>, tensor<4096x4096xi8>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%a: i8, %b: i8):
    %v = arith.sitofp %a : i8 to f32
    %w = arith.uitofp %b : i8 to f32
    %p = arith.mulf %v, %w : f32
    %s = redfuse.reduce add %p over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}
