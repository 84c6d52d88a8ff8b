// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_80 -redfuse-prepack-operands | FileCheck %s

#x = affine_map<(n, o, p, c, t) -> (n, c, p + t)>
#w = affine_map<(n, o, p, c, t) -> (o, c, t)>
#y = affine_map<(n, o, p, c, t) -> (n, o, p)>
#t = affine_map<(n, o, p, c, t) -> (t)>
#gx = affine_map<(n, g, o, p, c, t) -> (n, g, c, p + t)>
#gw = affine_map<(n, g, o, p, c, t) -> (g, o, c, t)>
#gy = affine_map<(n, g, o, p, c, t) -> (n, g, o, p)>

// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2) -> (d2, d1, d0)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2 + d4)>
// CHECK-DAG: #[[Q:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d4, d3, d1)>
// CHECK-DAG: #[[G:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2, d1)>
// CHECK-DAG: #[[P:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d5, d4, d2)>

// Taps are neighbours in memory. A rounding stays with the product.
// CHECK-LABEL: func.func @rounded
// CHECK: %[[Q1:.*]] = redfuse.cascade {indexing_maps = [#[[W]], #[[ID]]]} ins(%{{.*}} : tensor<64x64x3xf32>) outs(%{{.*}} : tensor<3x64x64xf32>)
// CHECK-NEXT: ^bb0(%[[V:.*]]: f32):
// CHECK-NEXT: redfuse.yield %[[V]]
// CHECK: redfuse.cascade {indexing_maps = [#[[X]], #[[Q]], #{{.*}}]} ins(%{{.*}}, %[[Q1]] : tensor<8x64x8194xf32>, tensor<3x64x64xf32>)
// CHECK-NEXT: ^bb0(%{{.*}}: f32, %[[B:.*]]: f32):
// CHECK: %[[R:.*]] = arith.truncf %[[B]] : f32 to tf32
// CHECK-NEXT: %[[F:.*]] = arith.extf %[[R]]
// CHECK-NEXT: arith.mulf %{{.*}}, %[[F]]
func.func @rounded(%x: tensor<8x64x8194xf32>, %w: tensor<64x64x3xf32>, %e: tensor<8x64x8192xf32>) -> tensor<8x64x8192xf32> {
  %r = redfuse.cascade {indexing_maps = [#x, #w, #y]} ins(%x, %w : tensor<8x64x8194xf32>, tensor<64x64x3xf32>) outs(%e : tensor<8x64x8192xf32>) {
  ^bb0(%a: f32, %b: f32):
    %h = arith.truncf %b : f32 to tf32
    %f = arith.extf %h : tf32 to f32
    %p = arith.mulf %a, %f : f32
    %s = redfuse.reduce add %p over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<8x64x8192xf32>
  return %r : tensor<8x64x8192xf32>
}

// Read back to front, as transposed convolutions do.
// CHECK-LABEL: func.func @reversed
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<64x64x3xf32>
// CHECK: %[[Q2:.*]] = redfuse.cascade {indexing_maps = [#[[ID]]]} outs(%{{.*}} : tensor<3x64x64xf32>)
// CHECK: %[[T:.*]] = redfuse.index 0
// CHECK: %[[S:.*]] = arith.subi %{{.*}}, %[[T]]
// CHECK: tensor.extract %[[A]][%{{.*}}, %{{.*}}, %[[S]]]
// CHECK: redfuse.cascade {indexing_maps = [#[[X]], #[[Q]], #{{.*}}]} ins(%{{.*}}, %[[Q2]] :
// CHECK-NOT: tensor.extract
// CHECK: return
func.func @reversed(%x: tensor<8x64x8194xf32>, %w: tensor<64x64x3xf32>, %t: tensor<3xi1>, %e: tensor<8x64x8192xf32>) -> tensor<8x64x8192xf32> {
  %two = arith.constant 2 : index
  %r = redfuse.cascade {indexing_maps = [#x, #t, #y]} ins(%x, %t : tensor<8x64x8194xf32>, tensor<3xi1>) outs(%e : tensor<8x64x8192xf32>) {
  ^bb0(%a: f32, %u: i1):
    %o = redfuse.index 1
    %c = redfuse.index 3
    %i = redfuse.index 4
    %j = arith.subi %two, %i : index
    %b = tensor.extract %w[%c, %o, %j] : tensor<64x64x3xf32>
    %p = arith.mulf %a, %b : f32
    %s = redfuse.reduce add %p over [3, 4] into [0, 1, 2] : f32
    redfuse.yield %s : f32
  } -> tensor<8x64x8192xf32>
  return %r : tensor<8x64x8192xf32>
}

// What both operands have of the result (groups) comes first; what is multiplied in 16 bits
// is copied in 16 bits.
// CHECK-LABEL: func.func @groups
// CHECK: %[[Q3:.*]] = redfuse.cascade {indexing_maps = [#[[G]], #{{.*}}]} ins(%{{.*}} : tensor<2x32x32x3xbf16>) outs(%{{.*}} : tensor<2x3x32x32xbf16>)
// CHECK: redfuse.cascade {indexing_maps = [#{{.*}}, #[[P]], #{{.*}}]} ins(%{{.*}}, %[[Q3]] :
func.func @groups(%x: tensor<32x2x32x8194xbf16>, %w: tensor<2x32x32x3xbf16>, %e: tensor<32x2x32x8192xf32>) -> tensor<32x2x32x8192xf32> {
  %r = redfuse.cascade {indexing_maps = [#gx, #gw, #gy]} ins(%x, %w : tensor<32x2x32x8194xbf16>, tensor<2x32x32x3xbf16>) outs(%e : tensor<32x2x32x8192xf32>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %p = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %p over [4, 5] into [0, 1, 2, 3] : f32
    redfuse.yield %s : f32
  } -> tensor<32x2x32x8192xf32>
  return %r : tensor<32x2x32x8192xf32>
}
