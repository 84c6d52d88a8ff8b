// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-pitch-operands | FileCheck %s

#ra = affine_map<(i, j, k) -> (i, k)>
#rb = affine_map<(i, j, k) -> (j, k)>
#rk = affine_map<(i, j, k) -> (k, j)>
#ro = affine_map<(i, j, k) -> (i, j)>

// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0, d1 mod 4097)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2) -> (d0, d2 mod 4097)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d1, d2 mod 4097)>

// Rows of 4097 elements are copied to where they begin at whole lines, and stay an input that
// tells how long the sum is. Two products that share a matrix share its copy.
// CHECK-LABEL: func.func @ragged
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4096x4097xbf16>, %[[W:[a-z0-9]+]]: tensor<4096x4097xbf16>
// CHECK: %[[XC:.*]] = redfuse.cascade {indexing_maps = [#[[ROW]], #[[ID]]]} ins(%[[X]] : tensor<4096x4097xbf16>) outs(%{{.*}} : tensor<4096x4160xbf16>)
// CHECK-NEXT: ^bb0(%[[V:.*]]: bf16):
// CHECK-NEXT: redfuse.yield %[[V]]
// CHECK: %[[WC:.*]] = redfuse.cascade {indexing_maps = [#[[ROW]], #[[ID]]]} ins(%[[W]] :
// CHECK: redfuse.cascade {indexing_maps = [#[[A]], #[[B]], #{{.*}}, #{{.*}}]} ins(%[[XC]], %[[WC]], %{{.*}} :
// CHECK: redfuse.cascade {{.*}} ins(%[[XC]], %[[XC]], %{{.*}} :
func.func @ragged(%x: tensor<4096x4097xbf16>, %w: tensor<4096x4097xbf16>, %e: tensor<4096x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>) {
  %r = redfuse.cascade {indexing_maps = [#ra, #rb, #ro]} ins(%x, %w : tensor<4096x4097xbf16>, tensor<4096x4097xbf16>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  %q = redfuse.cascade {indexing_maps = [#ra, #rb, #ro]} ins(%x, %x : tensor<4096x4097xbf16>, tensor<4096x4097xbf16>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  return %r, %q : tensor<4096x4096xf32>, tensor<4096x4096xf32>
}

// What begins at multiples of 16 bytes, but not of lines.
// CHECK-LABEL: func.func @skewed
// CHECK-COUNT-2: redfuse.cascade {{.*}} outs(%{{.*}} : tensor<4096x4160xbf16>)
// CHECK: redfuse.cascade {{.*}} outs(%{{.*}} : tensor<4096x4096xf32>)
func.func @skewed(%x: tensor<4096x4104xbf16>, %w: tensor<4096x4104xbf16>, %e: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %r = redfuse.cascade {indexing_maps = [#ra, #rb, #ro]} ins(%x, %w : tensor<4096x4104xbf16>, tensor<4096x4104xbf16>) outs(%e : tensor<4096x4096xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

// Only the matrix whose rows are ragged is copied; the other tells how long the sum is.
// CHECK-LABEL: func.func @one
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4096x780xbf16>, %[[W:[a-z0-9]+]]: tensor<780x1536xbf16>
// CHECK: %[[XC:.*]] = redfuse.cascade {{.*}} ins(%[[X]] : {{.*}}) outs(%{{.*}} : tensor<4096x832xbf16>)
// CHECK: redfuse.cascade {{.*}} ins(%[[XC]], %[[W]] : tensor<4096x832xbf16>, tensor<780x1536xbf16>)
func.func @one(%x: tensor<4096x780xbf16>, %w: tensor<780x1536xbf16>, %e: tensor<4096x1536xf32>) -> tensor<4096x1536xf32> {
  %r = redfuse.cascade {indexing_maps = [#ra, #rk, #ro]} ins(%x, %w : tensor<4096x780xbf16>, tensor<780x1536xbf16>) outs(%e : tensor<4096x1536xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    redfuse.yield %s : f32
  } -> tensor<4096x1536xf32>
  return %r : tensor<4096x1536xf32>
}
