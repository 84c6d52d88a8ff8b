// RUN: redfuse-opt -redfuse-derive=all=true %s | FileCheck %s

#row = affine_map<(i, j) -> (i, j)>
#one = affine_map<(i, j) -> (i)>

// What leaves the range of f32 where the source does not is added up in f64.

// A pivot that is k deviations from the mean makes cubes k^3 times as large. The
// sums of lower powers serve the variance as well.
// CHECK-LABEL: @third_moment
// CHECK: redfuse.fold
// CHECK-SAME: rules = [{{.*}}text = "powers about a pivot above the second are added up in f64"
// CHECK: } -> tensor<5xf32>, tensor<i64>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>
func.func @third_moment(%x: tensor<5x37xf32>, %init: tensor<5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %r:2 = redfuse.cascade {indexing_maps = [#row, #one, #one]}
      ins(%x : tensor<5x37xf32>) outs(%init, %init : tensor<5xf32>, tensor<5xf32>) {
  ^bb0(%a: f32):
    %n = arith.constant 3.700000e+01 : f32
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %m = arith.divf %s, %n : f32
    %d = arith.subf %a, %m : f32
    %d2 = arith.mulf %d, %d : f32
    %v = redfuse.reduce add %d2 over [1] into [0] : f32
    %d3 = arith.mulf %d2, %d : f32
    %t = redfuse.reduce add %d3 over [1] into [0] : f32
    redfuse.yield %v, %t : f32, f32
  } -> tensor<5xf32>, tensor<5xf32>
  return %r#0, %r#1 : tensor<5xf32>, tensor<5xf32>
}

// 1/x^2 of (d/x)^2 as well as x^2.
// CHECK-LABEL: @divided_by_data
// CHECK: redfuse.fold
// CHECK-SAME: rules = [{{.*}}text = "products that the source scales down first are added up in f64"
// CHECK: } -> tensor<5xf32>, tensor<5xf64>, tensor<5xf64>, tensor<5xf64>
func.func @divided_by_data(%x: tensor<5x37xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %r = redfuse.cascade {indexing_maps = [#row, #one]}
      ins(%x : tensor<5x37xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %q = arith.divf %s, %a : f32
    %q2 = arith.mulf %q, %q : f32
    %t = redfuse.reduce add %q2 over [1] into [0] : f32
    redfuse.yield %t : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// 1/x is infinite for the smallest numbers, where s/x is not.
// CHECK-LABEL: @divided_by_one_value
// CHECK: redfuse.fold
// CHECK-SAME: rules = [{{.*}}text = "products that the source scales down first are added up in f64"
// CHECK: } -> tensor<5xf32>, tensor<5xf64>
func.func @divided_by_one_value(%x: tensor<5x37xf32>, %init: tensor<5xf32>) -> tensor<5xf32> {
  %r = redfuse.cascade {indexing_maps = [#row, #one]}
      ins(%x : tensor<5x37xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%a: f32):
    %s = redfuse.reduce add %a over [1] into [0] : f32
    %q = arith.divf %s, %a : f32
    %t = redfuse.reduce add %q over [1] into [0] : f32
    redfuse.yield %t : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}
