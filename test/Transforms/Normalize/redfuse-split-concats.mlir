// RUN: redfuse-opt %s -redfuse-split-concats | FileCheck %s

#x = affine_map<(i, j) -> (i, j)>
#c = affine_map<(i, j) -> (j)>
#r = affine_map<(i, j) -> (i)>

// A weighted sum over a long tensor between two short ones, and a slice of the long one; the
// weights, of all, are cut, and positions go on.
// CHECK-LABEL: func.func @between
// CHECK-SAME: %[[A:.*]]: tensor<4x2xf32>, %[[X:.*]]: tensor<4x64xf32>, %[[B:.*]]: tensor<4x1xf32>, %[[W:.*]]: tensor<67xf32>
// CHECK-NOT: tensor.concat
// CHECK: %[[WX:.*]] = tensor.extract_slice %[[W]][2] [64] [1]
// CHECK: %[[PX:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[WX]] : tensor<4x64xf32>, tensor<64xf32>)
// CHECK: %[[AT:.*]] = linalg.index 1
// CHECK: arith.addi %[[AT]], %c2
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<4xf32>)
// CHECK: %[[TWO:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<4xf32>)
// CHECK: %[[LONG:.*]] = linalg.generic {{.*}} ins(%[[PX]] : tensor<4x64xf32>) outs(%[[TWO]] : tensor<4xf32>)
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<4xf32>) outs(%[[LONG]] : tensor<4xf32>)
// CHECK: %[[S:.*]] = tensor.extract_slice %[[PX]][0, 1] [4, 63] [1, 1]
// CHECK: return %[[SUM]], %[[S]]
func.func @between(%a: tensor<4x2xf32>, %x: tensor<4x64xf32>, %b: tensor<4x1xf32>, %w: tensor<67xf32>, %e: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x63xf32>) {
  %all = tensor.concat dim(1) %a, %x, %b : (tensor<4x2xf32>, tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x67xf32>
  %0 = tensor.empty() : tensor<4x67xf32>
  %p = linalg.generic {indexing_maps = [#x, #c, #x], iterator_types = ["parallel", "parallel"]} ins(%all, %w : tensor<4x67xf32>, tensor<67xf32>) outs(%0 : tensor<4x67xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %i = linalg.index 1 : index
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %m = arith.mulf %u, %v : f32
    %s = arith.addf %m, %f : f32
    linalg.yield %s : f32
  } -> tensor<4x67xf32>
  %r = linalg.generic {indexing_maps = [#x, #r], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<4x67xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%u: f32, %o: f32):
    %s = arith.addf %u, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %s = tensor.extract_slice %p[0, 3] [4, 63] [1, 1] : tensor<4x67xf32> to tensor<4x63xf32>
  return %r, %s : tensor<4xf32>, tensor<4x63xf32>
}

// Through a reshape that leaves the axis, and a result with the position of a maximum.
// CHECK-LABEL: func.func @reshaped
// CHECK-NOT: tensor.concat
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2]] output_shape [2, 2, 64]
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2]] output_shape [2, 2, 1]
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x2x64xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2x2xf32>)
// CHECK: %c64
#y = affine_map<(i, j, k) -> (i, j, k)>
#q = affine_map<(i, j, k) -> (i, j)>
func.func @reshaped(%x: tensor<4x64xf32>, %b: tensor<4x1xf32>, %e: tensor<2x2xf32>, %n: tensor<2x2xindex>) -> tensor<2x2xindex> {
  %all = tensor.concat dim(1) %x, %b : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x65xf32>
  %z = tensor.expand_shape %all [[0, 1], [2]] output_shape [2, 2, 65] : tensor<4x65xf32> into tensor<2x2x65xf32>
  %r:2 = linalg.generic {indexing_maps = [#y, #q, #q], iterator_types = ["parallel", "parallel", "reduction"]} ins(%z : tensor<2x2x65xf32>) outs(%e, %n : tensor<2x2xf32>, tensor<2x2xindex>) {
  ^bb0(%u: f32, %o: f32, %p: index):
    %i = linalg.index 2 : index
    %g = arith.cmpf ogt, %u, %o : f32
    %v = arith.select %g, %u, %o : f32
    %w = arith.select %g, %i, %p : index
    linalg.yield %v, %w : f32, index
  } -> (tensor<2x2xf32>, tensor<2x2xindex>)
  return %r#1 : tensor<2x2xindex>
}

#t = affine_map<(i, j) -> (j, i)>

// A concatenation that is transposed, and read in whole parts.
// CHECK-LABEL: func.func @sliced
// CHECK-SAME: %[[X:.*]]: tensor<4x64xf32>, %[[S:.*]]: tensor<4x1xf32>
// CHECK-NOT: tensor.concat
// CHECK: %[[L:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4x64xf32>)
// CHECK: %[[E:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<4x1xf32>)
func.func @sliced(%x: tensor<4x64xf32>, %s: tensor<4x1xf32>) -> (tensor<64x4xf32>, tensor<1x4xf32>) {
  %all = tensor.concat dim(1) %x, %s : (tensor<4x64xf32>, tensor<4x1xf32>) -> tensor<4x65xf32>
  %0 = tensor.empty() : tensor<65x4xf32>
  %p = linalg.generic {indexing_maps = [#t, #x], iterator_types = ["parallel", "parallel"]} ins(%all : tensor<4x65xf32>) outs(%0 : tensor<65x4xf32>) {
  ^bb0(%u: f32, %o: f32):
    linalg.yield %u : f32
  } -> tensor<65x4xf32>
  %l = tensor.extract_slice %p[0, 0] [64, 4] [1, 1] : tensor<65x4xf32> to tensor<64x4xf32>
  %e = tensor.extract_slice %p[64, 0] [1, 4] [1, 1] : tensor<65x4xf32> to tensor<1x4xf32>
  return %l, %e : tensor<64x4xf32>, tensor<1x4xf32>
}
