// RUN: redfuse-opt %s -redfuse-drop-unused-results | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#c = affine_map<(i, j) -> (j)>

// A scan's total, and the operand that it alone needs.
// CHECK-LABEL: func.func @total
// CHECK-SAME:      (%[[X:.*]]: tensor<4x8xf32>, %{{.*}}: tensor<8xf32>)
// CHECK:         %[[R:.*]] = redfuse.cascade {{.*}} ins(%[[X]] : tensor<4x8xf32>) outs(%{{.*}} : tensor<4x8xf32>)
// CHECK-NOT:       redfuse.reduce
// CHECK:           redfuse.scan add
// CHECK-NOT:       redfuse.reduce
// CHECK:         return %[[R]]
func.func @total(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
  %d = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %r:2 = redfuse.cascade {indexing_maps = [#x, #c, #r, #x]} ins(%x, %w : tensor<4x8xf32>, tensor<8xf32>) outs(%d, %e : tensor<4xf32>, tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %p = arith.mulf %a, %b : f32
    %t = redfuse.reduce add %p over [1] into [0] : f32
    %s = redfuse.scan add %a along 1 : f32
    redfuse.yield %t, %s : f32, f32
  } -> tensor<4xf32>, tensor<4x8xf32>
  return %r#1 : tensor<4x8xf32>
}

// What is left has its places among the results.
// CHECK-LABEL: func.func @two
// CHECK:         %[[R:.*]]:2 = redfuse.cascade {{.*}} outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4x8xf32>)
// CHECK:           %[[T:.*]] = redfuse.reduce maximumf
// CHECK:           %[[N:.*]] = arith.negf
// CHECK:           redfuse.yield %[[T]], %[[N]] : f32, f32
// CHECK:         return %[[R]]#1, %[[R]]#0
func.func @two(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %d = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %r:3 = redfuse.cascade {indexing_maps = [#x, #r, #r, #x]} ins(%x : tensor<4x8xf32>) outs(%d, %d, %e : tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>) {
  ^bb0(%a: f32):
    %t = redfuse.reduce add %a over [1] into [0] : f32
    %m = redfuse.reduce maximumf %a over [1] into [0] : f32
    %n = arith.negf %a : f32
    redfuse.yield %t, %m, %n : f32, f32, f32
  } -> tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>
  return %r#2, %r#1 : tensor<4x8xf32>, tensor<4xf32>
}
