// RUN: redfuse-opt %s -redfuse-attach-target=chip=sm_90a -redfuse-split-scans | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#c = affine_map<(i, j) -> (j)>

// Pieces are reduced, what they come to is scanned, and each is scanned from there. A sum of all
// stays in a cascade of its own, if somebody wants it.
// CHECK-DAG: #[[P:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[C:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[S:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func @rows
// CHECK:         %[[T:.*]] = redfuse.cascade {{.*}} outs(%{{.*}} : tensor<2xf32>)
// CHECK:         %[[X:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0], [1, 2]] output_shape [2, 128, 8192] : tensor<2x1048576xf32> into tensor<2x128x8192xf32>
// CHECK:         %[[W:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [128, 8192]
// CHECK:         %[[A:.*]] = redfuse.cascade {indexing_maps = [#[[P]], #[[C]], #[[S]]]} ins(%[[X]], %[[W]] :
// CHECK:           arith.mulf
// CHECK:           redfuse.reduce add %{{.*}} over [2] into [0, 1] : f32
// CHECK:         } -> tensor<2x128xf32>
// CHECK:         %[[B:.*]] = redfuse.cascade {{.*}} ins(%[[A]] : tensor<2x128xf32>)
// CHECK:           redfuse.scan add %{{.*}} along 1 {exclusive} : f32
// CHECK:         %[[O:.*]] = redfuse.cascade {indexing_maps = [#[[P]], #[[C]], #[[S]], #[[P]]]} ins(%[[X]], %[[W]], %[[B]] :
// CHECK:         ^bb0(%{{.*}}: f32, %{{.*}}: f32, %[[BEFORE:.*]]: f32):
// CHECK:           %[[OWN:.*]] = redfuse.scan add %{{.*}} along 2 : f32
// CHECK:           %[[ALL:.*]] = arith.addf %[[BEFORE]], %[[OWN]]
// CHECK:           arith.negf %[[ALL]]
// CHECK:         %[[R:.*]] = tensor.collapse_shape %[[O]] {{\[\[}}0], [1, 2]]
// CHECK:         return %[[T]], %[[R]]
func.func @rows(%x: tensor<2x1048576xf32>, %w: tensor<1048576xf32>) -> (tensor<2xf32>, tensor<2x1048576xf32>) {
  %d = tensor.empty() : tensor<2xf32>
  %e = tensor.empty() : tensor<2x1048576xf32>
  %r:2 = redfuse.cascade {indexing_maps = [#x, #c, #r, #x]} ins(%x, %w : tensor<2x1048576xf32>, tensor<1048576xf32>) outs(%d, %e : tensor<2xf32>, tensor<2x1048576xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    %t = redfuse.reduce add %p over [1] into [0] : f32
    %s = redfuse.scan add %p along 1 : f32
    %n = arith.negf %s : f32
    redfuse.yield %t, %n : f32, f32
  } -> tensor<2xf32>, tensor<2x1048576xf32>
  return %r#0, %r#1 : tensor<2xf32>, tensor<2x1048576xf32>
}

#i = affine_map<(i) -> (i)>

// A position in the row, by piece and position in that; pieces of an odd length.
// CHECK-LABEL: func.func @positions
// CHECK:         redfuse.cascade {{.*}} ins(%{{.*}} : tensor<243x6561xi32>)
// CHECK:           %[[N:.*]] = redfuse.index 0
// CHECK:           %[[L:.*]] = arith.constant 6561 : index
// CHECK:           %[[M:.*]] = arith.muli %[[N]], %[[L]]
// CHECK:           %[[J:.*]] = redfuse.index 1
// CHECK:           arith.addi %[[M]], %[[J]]
// CHECK:           redfuse.reduce maxsi %{{.*}} over [1] into [0] : i32
func.func @positions(%x: tensor<1594323xi32>) -> tensor<1594323xi32> {
  %e = tensor.empty() : tensor<1594323xi32>
  %r = redfuse.cascade {indexing_maps = [#i, #i]} ins(%x : tensor<1594323xi32>) outs(%e : tensor<1594323xi32>) {
  ^bb0(%a: i32):
    %n = redfuse.index 0
    %k = arith.index_cast %n : index to i32
    %p = arith.subi %a, %k : i32
    %s = redfuse.scan maxsi %p along 0 {exclusive} : i32
    redfuse.yield %s : i32
  } -> tensor<1594323xi32>
  return %r : tensor<1594323xi32>
}
