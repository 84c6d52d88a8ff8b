// RUN: redfuse-opt %s -redfuse-split-totals | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#r = affine_map<(i, j) -> (i)>
#s = affine_map<(i, j) -> ()>

// Nothing of it needs rows; all is reduced over before; extents are open.

// CHECK-LABEL: func.func @alone
// CHECK: redfuse.reduce add %{{.+}} over [0, 1] into [] : f32
func.func @alone(%x: tensor<8x1000xf32>) -> tensor<f32> {
  %g = tensor.empty() : tensor<f32>
  %t = redfuse.cascade {indexing_maps = [#x, #s]} ins(%x : tensor<8x1000xf32>) outs(%g : tensor<f32>) {
  ^bb0(%a: f32):
    %1 = redfuse.reduce add %a over [0, 1] into [] : f32
    redfuse.yield %1 : f32
  } -> tensor<f32>
  return %t : tensor<f32>
}

// CHECK-LABEL: func.func @whole
// CHECK: redfuse.reduce add %{{.+}} over [0, 1] into [] : f32
// CHECK: redfuse.reduce add %{{.+}} over [0, 1] into [] : f32
func.func @whole(%x: tensor<8x1000xf32>) -> tensor<f32> {
  %g = tensor.empty() : tensor<f32>
  %m = redfuse.cascade {indexing_maps = [#x, #s]} ins(%x : tensor<8x1000xf32>) outs(%g : tensor<f32>) {
  ^bb0(%a: f32):
    %1 = redfuse.reduce add %a over [0, 1] into [] : f32
    redfuse.yield %1 : f32
  } -> tensor<f32>
  %t = redfuse.cascade {indexing_maps = [#x, #s, #s]} ins(%x, %m : tensor<8x1000xf32>, tensor<f32>)
      outs(%g : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.subf %a, %b : f32
    %2 = redfuse.reduce add %1 over [0, 1] into [] : f32
    redfuse.yield %2 : f32
  } -> tensor<f32>
  return %t : tensor<f32>
}

// CHECK-LABEL: func.func @open
// CHECK: redfuse.reduce add %{{.+}} over [0, 1] into [] : f32
func.func @open(%x: tensor<?x1000xf32>, %e: tensor<?xf32>) -> tensor<f32> {
  %m = redfuse.cascade {indexing_maps = [#x, #r]} ins(%x : tensor<?x1000xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32):
    %1 = redfuse.reduce maximumf %a over [1] into [0] : f32
    redfuse.yield %1 : f32
  } -> tensor<?xf32>
  %g = tensor.empty() : tensor<f32>
  %t = redfuse.cascade {indexing_maps = [#x, #r, #s]} ins(%x, %m : tensor<?x1000xf32>, tensor<?xf32>)
      outs(%g : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.subf %a, %b : f32
    %2 = redfuse.reduce add %1 over [0, 1] into [] : f32
    redfuse.yield %2 : f32
  } -> tensor<f32>
  return %t : tensor<f32>
}
