// RUN: redfuse-opt %s -redfuse-nest-reductions | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#s = affine_map<(i, j) -> ()>
#y = affine_map<(b, i, j) -> (b, i, j)>
#b = affine_map<(b, i, j) -> (b)>

// The second sum needs the maximum of every row: it starts with sums of rows.
// CHECK-LABEL: func.func @rows
// CHECK:         %[[M:.*]] = redfuse.reduce maximumf %{{.*}} over [1] into [0] : f32
// CHECK:         %[[D:.*]] = arith.subf %{{.*}}, %[[M]]
// CHECK-NEXT:    %[[R:.*]] = redfuse.reduce add %[[D]] over [1] into [0] : f32
// CHECK-NEXT:    %[[S:.*]] = redfuse.reduce add %[[R]] over [0] into [] : f32
// CHECK-NEXT:    redfuse.yield %[[S]]
func.func @rows(%x: tensor<6x20xf32>, %d: tensor<f32>) -> tensor<f32> {
  %r = redfuse.cascade {indexing_maps = [#x, #s]} ins(%x : tensor<6x20xf32>) outs(%d : tensor<f32>) {
  ^bb0(%a: f32):
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    %e = arith.subf %a, %m : f32
    %s = redfuse.reduce add %e over [0, 1] into [] : f32
    redfuse.yield %s : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// The dims that others reduced may be the outer ones, and several.
// CHECK-LABEL: func.func @columns
// CHECK:         %[[R:.*]] = redfuse.reduce maxsi %{{.*}} over [0, 1] into [2] : i32
// CHECK-NEXT:    redfuse.reduce maxsi %[[R]] over [2] into [] : i32
func.func @columns(%x: tensor<3x6x20xi32>, %d: tensor<i32>) -> tensor<i32> {
  %r = redfuse.cascade {indexing_maps = [#y, affine_map<(b, i, j) -> ()>]} ins(%x : tensor<3x6x20xi32>) outs(%d : tensor<i32>) {
  ^bb0(%a: i32):
    %t = redfuse.reduce add %a over [0] into [1, 2] : i32
    %u = redfuse.reduce maxsi %t over [1] into [2] : i32
    %e = arith.subi %a, %u : i32
    %s = redfuse.reduce maxsi %e over [0, 1, 2] into [] : i32
    redfuse.yield %s : i32
  } -> tensor<i32>
  return %r : tensor<i32>
}
