// RUN: redfuse-opt %s -redfuse-split-totals | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#s = affine_map<(i, j) -> ()>

// What is added up needs the rows' largest elements, two steps before.

// CHECK-DAG: #[[ROWS:.+]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[ALONE:.+]] = affine_map<(d0) -> ()>
// CHECK-LABEL: func.func @steps
// CHECK: arith.subf
// CHECK: %[[PARTS:.+]] = redfuse.cascade {indexing_maps = [#{{.+}}, #[[ROWS]]]}
// CHECK: math.exp
// CHECK: redfuse.reduce add %{{.+}} over [1] into [0] : f32
// CHECK: } -> tensor<8xf32>
// CHECK: redfuse.cascade {indexing_maps = [#{{.+}}, #[[ALONE]]]} ins(%[[PARTS]] : tensor<8xf32>)
// CHECK: redfuse.reduce add %{{.+}} over [0] into [] : f32
func.func @steps(%x: tensor<8x1000xf32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<8xf32>
  %m = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<8x1000xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32):
    %1 = redfuse.reduce maximumf %a over [1] into [0] : f32
    redfuse.yield %1 : f32
  } -> tensor<8xf32>
  %f = tensor.empty() : tensor<8x1000xf32>
  %d = redfuse.cascade {indexing_maps = [#x, #r, #x]} ins(%x, %m : tensor<8x1000xf32>, tensor<8xf32>)
      outs(%f : tensor<8x1000xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.subf %a, %b : f32
    redfuse.yield %1 : f32
  } -> tensor<8x1000xf32>
  %g = tensor.empty() : tensor<f32>
  %t = redfuse.cascade {indexing_maps = [#x, #s]} ins(%d : tensor<8x1000xf32>) outs(%g : tensor<f32>) {
  ^bb0(%a: f32):
    %1 = math.exp %a : f32
    %2 = redfuse.reduce add %1 over [0, 1] into [] : f32
    redfuse.yield %2 : f32
  } -> tensor<f32>
  return %t : tensor<f32>
}

#x3 = affine_map<(i, j, k) -> (i, j, k)>
#r3 = affine_map<(i, j, k) -> (i, j)>
#c3 = affine_map<(i, j, k) -> (j)>

// Of three dims, one stays, and rows are the last.

// CHECK-LABEL: func.func @columns
// CHECK: redfuse.reduce maximumf %{{.+}} over [2] into [0, 1] : f32
// CHECK: redfuse.reduce maximumf %{{.+}} over [2] into [0, 1] : f32
// CHECK: } -> tensor<4x8xf32>
// CHECK: redfuse.reduce maximumf %{{.+}} over [0] into [1] : f32
// CHECK: } -> tensor<8xf32>
func.func @columns(%x: tensor<4x8x1000xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %m = redfuse.cascade {indexing_maps = [#x3, #r3]} ins(%x : tensor<4x8x1000xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32):
    %1 = redfuse.reduce maximumf %a over [2] into [0, 1] : f32
    redfuse.yield %1 : f32
  } -> tensor<4x8xf32>
  %g = tensor.empty() : tensor<8xf32>
  %t = redfuse.cascade {indexing_maps = [#x3, #r3, #c3]}
      ins(%x, %m : tensor<4x8x1000xf32>, tensor<4x8xf32>) outs(%g : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = redfuse.reduce maximumf %1 over [0, 2] into [1] : f32
    redfuse.yield %2 : f32
  } -> tensor<8xf32>
  return %t : tensor<8xf32>
}
