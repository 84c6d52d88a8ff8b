// RUN: redfuse-opt %s -split-input-file -redfuse-attach-target=chip=sm_90a -redfuse-split-sums | FileCheck %s

#x = affine_map<(i, j, k) -> (i, k)>
#y = affine_map<(i, j, k) -> (k, j)>
#z = affine_map<(i, j, k) -> (i, j)>

// One tile of results: 512 splits, each a product, are added up by another cascade.
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>
// CHECK-DAG: #[[Y:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
// CHECK-DAG: #[[Z:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[R:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func.func @even
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<32x131072xbf16>, %[[B:[a-z0-9]+]]: tensor<131072x32xbf16>
// CHECK-DAG: %[[XA:.*]] = tensor.expand_shape %[[A]] {{\[\[0\], \[1, 2\]\]}} output_shape [32, 512, 256]
// CHECK-DAG: %[[XB:.*]] = tensor.expand_shape %[[B]] {{\[\[0, 1\], \[2\]\]}} output_shape [512, 256, 32]
// CHECK: %[[P:.*]] = redfuse.cascade {indexing_maps = [#[[X]], #[[Y]], #[[Z]]]} ins(%[[XA]], %[[XB]] : {{.*}}) outs(%{{.*}} : tensor<512x32x32xf32>)
// CHECK: %[[S:.*]] = redfuse.reduce add %{{.*}} over [3] into [0, 1, 2] : f32
// CHECK-NEXT: redfuse.yield %[[S]]
// CHECK: redfuse.cascade {indexing_maps = [#[[ID]], #[[R]]]} ins(%[[P]] : tensor<512x32x32xf32>) outs(%{{.*}} : tensor<32x32xbf16>)
// CHECK-NEXT: ^bb0(%[[V:.*]]: f32):
// CHECK-NEXT: %[[T:.*]] = redfuse.reduce add %[[V]] over [0] into [1, 2] : f32
// CHECK-NEXT: %[[C:.*]] = arith.truncf %[[T]] : f32 to bf16
// CHECK-NEXT: redfuse.yield %[[C]]
func.func @even(%x: tensor<32x131072xbf16>, %y: tensor<131072x32xbf16>, %e: tensor<32x32xbf16>) -> tensor<32x32xbf16> {
  %r = redfuse.cascade {indexing_maps = [#x, #y, #z]} ins(%x, %y : tensor<32x131072xbf16>, tensor<131072x32xbf16>) outs(%e : tensor<32x32xbf16>) {
  ^bb0(%a: bf16, %b: bf16):
    %f = arith.extf %a : bf16 to f32
    %g = arith.extf %b : bf16 to f32
    %m = arith.mulf %f, %g : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    %c = arith.truncf %s : f32 to bf16
    redfuse.yield %c : bf16
  } -> tensor<32x32xbf16>
  return %r : tensor<32x32xbf16>
}

// -----

#x = affine_map<(i, j, k) -> (k, i)>
#y = affine_map<(i, j, k) -> (k, j)>
#b = affine_map<(i, j, k) -> (j)>
#z = affine_map<(i, j, k) -> (i, j)>

// What is left of a prime extent is a product of its own, from where the splits end. The
// place along the sum is that of the whole; a bias and a place of the result are used behind it.
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-LABEL: func.func @prime
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<100003x24xf32>, %[[W:[a-z0-9]+]]: tensor<100003x40xf32>, %[[BIAS:[a-z0-9]+]]: tensor<40xf32>
// CHECK: tensor.extract_slice %[[A]][0, 0] [[[DONE:[0-9]+]], 24] [1, 1]
// CHECK: tensor.expand_shape %{{.*}} {{\[\[0, 1\], \[2\]\]}}
// CHECK: redfuse.cascade
// CHECK: %[[SPLIT:.*]] = redfuse.index 0
// CHECK: tensor.extract_slice %[[A]][[[DONE]], 0] [{{[0-9]+}}, 24] [1, 1]
// CHECK: redfuse.cascade {{.*}} outs(%{{.*}} : tensor<24x40xf32>)
// CHECK: arith.addi %{{.*}}, %c[[DONE]] : index
// CHECK: redfuse.cascade {{.*}} ins(%{{.*}}, %{{.*}}, %[[BIAS]] :
// CHECK-NEXT: ^bb0(%[[V:.*]]: f32, %[[REST:.*]]: f32, %[[OFFSET:.*]]: f32):
// CHECK-NEXT: %[[T:.*]] = redfuse.reduce add %[[V]] over [0] into [1, 2] : f32
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[T]], %[[REST]] : f32
// CHECK-NEXT: redfuse.index 1
// CHECK: arith.addf %[[S]], %[[OFFSET]]
func.func @prime(%x: tensor<100003x24xf32>, %y: tensor<100003x40xf32>, %w: tensor<40xf32>, %e: tensor<24x40xf32>) -> tensor<24x40xf32> {
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %r = redfuse.cascade {indexing_maps = [#x, #y, #b, #z]} ins(%x, %y, %w : tensor<100003x24xf32>, tensor<100003x40xf32>, tensor<40xf32>) outs(%e : tensor<24x40xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %k = redfuse.index 2
    %in = arith.cmpi sge, %k, %c5 : index
    %v = arith.select %in, %a, %zero : f32
    %m = arith.mulf %v, %b : f32
    %s = redfuse.reduce add %m over [2] into [0, 1] : f32
    %i = redfuse.index 0
    %top = arith.cmpi slt, %i, %c5 : index
    %p = arith.addf %s, %o : f32
    %q = arith.select %top, %p, %s : f32
    redfuse.yield %q : f32
  } -> tensor<24x40xf32>
  return %r : tensor<24x40xf32>
}
