// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-pitch-operands | FileCheck %s
// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-pitch-operands | FileCheck %s

#ra = affine_map<(i, j, k) -> (i, k)>
#rb = affine_map<(i, j, k) -> (j, k)>
#ro = affine_map<(i, j, k) -> (i, j)>

// Rows of whole lines.
// CHECK-LABEL: func.func @aligned
// CHECK-COUNT-1: redfuse.cascade
// CHECK-NOT: redfuse.cascade
func.func @aligned(%x: tensor<4096x4096xbf16>, %w: tensor<4096x4096xbf16>, %e: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %r = redfuse.cascade {indexing_maps = [#ra, #rb, #ro]} ins(%x, %w : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

// A copy would take longer than a product of four rows.
// CHECK-LABEL: func.func @few
// CHECK-COUNT-1: redfuse.cascade
// CHECK-NOT: redfuse.cascade
func.func @few(%x: tensor<4x4097xbf16>, %w: tensor<4096x4097xbf16>, %e: tensor<4x4096xf32>) -> tensor<4x4096xf32> {
  %r = redfuse.cascade {indexing_maps = [#ra, #rb, #ro]} ins(%x, %w : tensor<4x4097xbf16>, tensor<4096x4097xbf16>) outs(%e : tensor<4x4096xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4x4096xf32>
  return %r : tensor<4x4096xf32>
}

// A factor that is computed: redfuse-prepack-operands makes its copy.
// CHECK-LABEL: func.func @computed
// CHECK-COUNT-1: redfuse.cascade
// CHECK-NOT: redfuse.cascade
func.func @computed(%x: tensor<4096x4097xbf16>, %w: tensor<4096x4097xbf16>, %e: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %r = redfuse.cascade {indexing_maps = [#ra, #rb, #ro]} ins(%x, %w : tensor<4096x4097xbf16>, tensor<4096x4097xbf16>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %n = arith.negf %a : bf16
    %f = arith.extf %n : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

#ka = affine_map<(i, j, k) -> (k, i)>
#kb = affine_map<(i, j, k) -> (k, j)>

// Long sums with few results: the copies would read and write what is read once.
// CHECK-LABEL: func.func @tall
// CHECK-COUNT-1: redfuse.cascade
// CHECK-NOT: redfuse.cascade
func.func @tall(%x: tensor<190720x150xbf16>, %w: tensor<190720x25xbf16>, %e: tensor<150x25xf32>) -> tensor<150x25xf32> {
  %r = redfuse.cascade {indexing_maps = [#ka, #kb, #ro]} ins(%x, %w : tensor<190720x150xbf16>, tensor<190720x25xbf16>) outs(%e : tensor<150x25xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<150x25xf32>
  return %r : tensor<150x25xf32>
}
