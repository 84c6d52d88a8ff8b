// RUN: redfuse-opt -redfuse-derive=over=1,2 %s | FileCheck %s
// RUN: redfuse-opt "-redfuse-derive=all=true strict=true" %s | FileCheck %s --check-prefix=STRICT

// What has no merge in any number of passes stays, and the function says why.
#ijk = affine_map<(i, j, k) -> (i, j, k)>
#i = affine_map<(i, j, k) -> (i)>

// CHECK-LABEL: @part
// CHECK-SAME: condition = "part of the dims"
// CHECK-SAME: location = "{{.*}}redfuse-derive-invalid.mlir:[[@LINE+7]]
// CHECK-SAME: op = "redfuse.reduce"
// CHECK-NOT: redfuse.fold
func.func @part(%s: tensor<4x5x6xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %l = redfuse.cascade {indexing_maps = [#ijk, #i]}
      ins(%s : tensor<4x5x6xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%x: f32):
    %m = redfuse.reduce add %x over [1] into [0, 2] : f32
    %q = arith.divf %x, %m : f32
    %l = redfuse.reduce add %q over [1, 2] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<4xf32>
  return %l : tensor<4xf32>
}

// STRICT-LABEL: @sum
// STRICT-SAME: condition = "strict"
// STRICT-NOT: redfuse.fold
// CHECK-LABEL: @sum
func.func @sum(%s: tensor<4x5x6xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %l = redfuse.cascade {indexing_maps = [#ijk, #i]}
      ins(%s : tensor<4x5x6xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%x: f32):
    %l = redfuse.reduce add %x over [1, 2] into [0] : f32
    redfuse.yield %l : f32
  } -> tensor<4xf32>
  return %l : tensor<4xf32>
}

// Maxima, bits and integers have one result in any order.
// CHECK-LABEL: @exact
// STRICT-LABEL: @exact
// STRICT: redfuse.fold
// STRICT-NOT: redfuse.cascade
func.func @exact(%f: tensor<4x5x6xf32>, %n: tensor<4x5x6xi32>, %a: tensor<4xf32>, %b: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %l:2 = redfuse.cascade {indexing_maps = [#ijk, #ijk, #i, #i]}
      ins(%f, %n : tensor<4x5x6xf32>, tensor<4x5x6xi32>) outs(%a, %b : tensor<4xf32>, tensor<4xi32>) {
  ^bb0(%x: f32, %y: i32):
    %m = redfuse.reduce maximumf %x over [1, 2] into [0] : f32
    %s = redfuse.reduce add %y over [1, 2] into [0] : i32
    %q = arith.muli %y, %s : i32
    %t = redfuse.reduce add %q over [1, 2] into [0] : i32
    redfuse.yield %m, %t : f32, i32
  } -> tensor<4xf32>, tensor<4xi32>
  return %l#0, %l#1 : tensor<4xf32>, tensor<4xi32>
}
